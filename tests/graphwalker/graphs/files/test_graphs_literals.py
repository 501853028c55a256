"""Literals and N-Triples lines: each spelling read back, each mistake named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphwalker.errors import UserError
from graphwalker.graphs.literals import is_literal, literal_id, literal_name
from graphwalker.graphs.names import fold, names_nothing
from graphwalker.graphs.ntriples import parse_line, parse_literal

NS = "http://rdf.freebase.com/ns/"
DATE = '"1961-08-04"^^<http://www.w3.org/2001/XMLSchema#date>'


@given(st.text(), st.sampled_from(["", "@en", "@zh-Hans", "^^<http://x.y/z>"]))
def test_a_literal_gives_its_text_back(text, suffix):
    written = literal_id(text, suffix)
    assert is_literal(written) and literal_name(written) == text
    assert parse_literal(written) == written
    assert parse_line(f"<a:b> <c:d> {written} .") == ("a:b", "c:d", written)


def test_tabs_blank_nodes_and_comments_are_read():
    assert parse_line(f"_:b1\t<{NS}a.b.c>\t_:b2\t.") == ("_:b1", "a.b.c", "_:b2")
    assert parse_line(f"<{NS}m.1> <{NS}a.b.c> {DATE} . # born") == ("m.1", "a.b.c", DATE)
    assert parse_line("# a comment") is parse_line("  ") is None


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r'"caf\u00E9"@fr', '"café"@fr'),
        (r'"\U0001F600"', '"\U0001f600"'),
        (r'"\uD83D\uDE00"', '"\U0001f600"'),
        ('"plain"^^<http://www.w3.org/2001/XMLSchema#string>', '"plain"'),
    ],
)
def test_one_literal_has_one_spelling(written, text):
    assert parse_literal(written) == text


@pytest.mark.parametrize(
    "line",
    [
        f"<{NS}m.1> <{NS}a.b.c> <{NS}m.2>",
        f'"literal" <{NS}a.b.c> <{NS}m.2> .',
        f'<{NS}m.1> <{NS}a.b.c> "unclosed .',
        f'<{NS}m.1> <{NS}a.b.c> "half \\uD83D" .',
        f'<{NS}m.1> <{NS}a.b.c> "odd \\q" .',
        f'<{NS}m.1> <{NS}a.b.c> "far \\U00110000" .',
        r"<\u0022> <a> <b> .",
        "m.1\ta.b.c\tm.2",
    ],
)
def test_a_malformed_line_is_refused(line):
    with pytest.raises(UserError):
        parse_line(line)


def test_names_match_folded_in_case_marks_and_spaces():
    assert fold("  ZOE\u0308 \u00a0O'Hara") == fold("zo\u00eb o'hara")
    assert fold("STRASSE") == fold("straße") and fold("Zoe") != fold("Zoë")


def test_an_id_in_the_place_of_a_name_names_nothing():
    assert names_nothing("") and names_nothing("m.0abc_1") and names_nothing("g.11b")
    assert not names_nothing("M.I.A.") and not names_nothing("m.") and not names_nothing("x.1")
