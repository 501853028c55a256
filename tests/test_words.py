"""The words of the code and its pages: the field's own, and one meaning for each type name.

A word stands here when this project once gave it a meaning of its own that a newcomer had to look
up. Texts that a model reads (prompts, observations, thoughts, questions) are not checked: they are
data, and a change of one byte makes other trajectories.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from support.code import label, nodes_of, parsed, sources
from support.paths import ROOT

PRIVATE_NAMES = {
    **dict.fromkeys(("twin", "twins"), "inverse relation"),
    **dict.fromkeys(("slip", "slips", "slipped"), "injected error"),
    "ragged": "irregular",
    "dull": "zero variance",
    **dict.fromkeys(("crew", "crews", "solo", "player", "players"), "workers"),
    **dict.fromkeys(("fate", "fates", "desk", "desks"), "request, episode or session"),
    **dict.fromkeys(("voice", "voices"), "phrase, wording or text"),
    **dict.fromkeys(("said", "told", "asked", "unsaid", "retold"), "what the value is"),
    **dict.fromkeys(("alarm", "alarms", "pace"), "monitor or limits"),
    "bench": "dataset, benchmark or speed benchmark",
}
"""Words that no variable, parameter, attribute, function or class may hold, and what to write."""
ALLOWED_NAMES = {
    "bench": "the command `graphwalker bench`",
    "make_bench": "what that command calls",
    "BENCH": "its recipe, whose name stands in the cards of made data",
    "BenchConfig": "its settings",
    "GraphWalkerBench": "the published test set of that name",
    "GrBench": "the published test set GRBench",
    "not_asked": "relations that people do not ask about",
}

PRIVATE_PROSE = {
    r"twins?|slips?|slipped|ragged|dull|crews?|solo|fates?|desks?|voices?|alarms?": (
        "inverse relation, injected error, irregular, zero variance, workers, request, session, "
        "text, monitor"
    ),
    r"players?|pace": "workers, limits",
    r"(?:go|goes|going|went|gone) on": "resume, continue",
    r"(?:questions?|records?|rows?|trajectories|episodes?) (?:\w+ ){0,2}left out": "set aside",
    r"(?:failures?|failed|defects?|faults?) (?:of ours|for us)|stop\.ours": (
        "infrastructure failure"
    ),
    r"bench": "dataset, benchmark or speed benchmark",
}
"""Words that no docstring, comment, help text or page may hold, and what to write."""

ROOT_PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in ROOT_PAGES), *sorted((ROOT / "docs").glob("*.md"))]

TWO_MEANINGS: dict[str, str] = {
    "Rows": "a kind of answer, and what SFT trains on",
    "Text": "a kind of answer, and a field of a dataset that is not empty",
}
"""Type names that stand twice on purpose, and why."""


def named(path: Path) -> Iterator[tuple[str, int]]:
    """Names that the module gives: a use of another's name is that one's."""
    for node in nodes_of(path):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.AsyncFunctionDef(name=name):
                yield name, node.lineno


def words(name: str) -> set[str]:
    """The words of an identifier: `_SlipsOf_twins` has `slips`, `of` and `twins`."""
    return {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def prose(path: Path) -> Iterator[tuple[str, int]]:
    """Docstrings, texts under fields, comments, and the help of options."""
    text = path.read_text(encoding="utf-8")
    for node in nodes_of(path):
        match node:
            case ast.Expr(value=ast.Constant(value=str(found))):
                yield found, node.lineno
            case ast.keyword(arg="help", value=ast.Constant(value=str(found))):
                yield found, node.value.lineno
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string, token.start[0]


def without_code(text: str) -> str:
    """The text without what is quoted from files and commands; every line stays a line."""
    text = re.sub(r"```.*?```", lambda code: "\n" * code[0].count("\n"), text, flags=re.S)
    text = re.sub(r"^\s*Example: .*(?:\n\s*--.*)*", "", text, flags=re.M)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


def private_prose(text: str, first: int, label: str) -> Iterator[str]:
    text = without_code(text)
    for pattern, instead in PRIVATE_PROSE.items():
        for found in re.finditer(rf"\b(?:{pattern})\b", text, re.I):
            line = first + text.count("\n", 0, found.start())
            yield f"{label}:{line}: {found[0]!r}; write {instead}"


def test_names_are_in_the_words_of_the_field() -> None:
    wrong, seen = list[str](), set[str]()
    for path in sources():
        for name, line in named(path):
            seen.add(name)
            for word in sorted(words(name) & PRIVATE_NAMES.keys()):
                if name not in ALLOWED_NAMES:
                    wrong.append(f"{label(path)}:{line}: {name}; write {PRIVATE_NAMES[word]}")
    assert not wrong, "\n".join(wrong)
    assert seen >= ALLOWED_NAMES.keys(), "an allowed name is no longer there"


def test_docstrings_comments_and_help_are_in_the_words_of_the_field() -> None:
    texts = [(text, line, label(path)) for path in sources() for text, line in prose(path)]
    wrong = [message for told in texts for message in private_prose(*told)]
    assert not wrong, "\n".join(wrong)


def test_pages_are_in_the_words_of_the_field() -> None:
    texts = [(path.read_text(encoding="utf-8"), 1, label(path)) for path in PAGES]
    wrong = [message for told in texts for message in private_prose(*told)]
    assert not wrong, "\n".join(wrong)


def types(path: Path) -> Iterator[tuple[str, str]]:
    """Classes, by their place, and aliases of types, by what they stand for: an alias may be given
    again where it means the same."""
    for node in nodes_of(path):
        if isinstance(node, ast.ClassDef):
            yield node.name, f"{label(path)}:{node.lineno}"
    for node in parsed(path).body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if re.match("[A-Z].*[a-z]", name):
                    yield name, ast.unparse(value)


def test_a_type_name_means_one_thing() -> None:
    meanings: dict[str, list[str]] = defaultdict(list)
    for path in sources():
        for name, meaning in types(path):
            if not name.startswith("_") and meaning not in meanings[name]:
                meanings[name].append(meaning)
    twice = {name: found for name, found in meanings.items() if len(found) > 1}
    assert twice.keys() <= TWO_MEANINGS.keys(), f"one of them should say more: {twice}"


NO_VERB = re.compile(
    "A|All|An|As|At|By|Each|Every|For|How|Its|It|No|Of|One|Our|That|The|Those|What|Where|Whether"
    "|Which|Who|Whose|Why|With|Without"
)


def test_docstrings_of_functions_begin_with_a_verb() -> None:
    """A property is called like what it is, and says so. Few others may begin with a noun."""
    nouns, counted = list[str](), 0
    for path in sources():
        for node in nodes_of(path):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if any("property" in ast.unparse(one) for one in node.decorator_list):
                continue
            if text := ast.get_docstring(node):
                counted += 1
                if NO_VERB.fullmatch(text.split()[0].strip("`.,:")):
                    nouns.append(f"{label(path)}: {node.name}")
    assert len(nouns) < 0.01 * counted, "\n".join(nouns)
