"""Lines of JSON: the fast way of writing them gives the bytes of the plain one."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwalker.files import dumps, dumps_bytes

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner) | st.tuples(inner, inner),
)


@pytest.mark.long
@given(VALUES)
def test_bytes_are_those_of_the_text(value: object) -> None:
    assert dumps_bytes({"value": value}) == dumps({"value": value}).encode()


@pytest.mark.parametrize("small", [1e-5, -9.9e-05, 1.5e-4, 5e-324, 1e-4, 0.00001234])
def test_small_numbers_are_spelled_as_python_spells_them(small: float) -> None:
    assert dumps_bytes([small, math.inf]) == dumps([small, math.inf]).encode()


def test_half_a_character_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogate"):
        dumps_bytes({"name": "\ud800"})
