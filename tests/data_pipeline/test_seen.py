"""Texts that were seen, known by their hashes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from data_pipeline.jobs.distinct import SMALLEST, TextSet


@given(st.lists(st.text("ab\ud800", max_size=3)))
@settings(max_examples=30, deadline=None)
def test_it_is_a_set_of_texts(texts):
    seen, known = TextSet(), set()
    for text in texts:
        assert (text in seen) == (text in known)
        assert seen.add(text) == (text not in known)
        known.add(text)
    assert len(seen) == len(known)


def test_nothing_is_lost_when_it_grows():
    seen = TextSet()
    for n in range(5 * SMALLEST):
        assert seen.add(f"text {n}")
    assert len(seen) == 5 * SMALLEST
    assert all(f"text {n}" in seen for n in range(5 * SMALLEST))
    assert not any(f"text {n}" in seen for n in range(5 * SMALLEST, 6 * SMALLEST))
