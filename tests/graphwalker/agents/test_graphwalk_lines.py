"""GraphWalk with results as numbered lines, and the oracle's steps that small models learn."""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.published.graphwalk.lines import LineTools, read_lines, schema_lines
from graphwalker.agents.published.graphwalk.steps import StepNotes, relationship_by_property
from graphwalker.agents.rollout import rollout
from graphwalker.answers.reading import read_rows
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.protocols.base import FinalAnswer
from graphwalker.protocols.tables import RowsForm
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.synthetic.graphs import random_graph, size_of
from graphwalker.synthetic.sets import QUESTIONS, make_graph_set
from graphwalker.tools.base import Call
from graphwalker.tools.properties import AROUND, FIND, VALUES, PropertyTools


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("lines") / "set"
    make_graph_set(size_of(60), 3, 3, made)
    return made


def world(folder: Path, **options: Any) -> Environment:
    settings = {"rows": "lines", **options}
    config = EnvironmentConfig(preset="graphwalk", max_turns=100, options=settings)
    return Environment(open_graph(folder), config)


@pytest.mark.long
@pytest.mark.parametrize("parallel", [False, True])
def test_the_oracle_answers_every_template_in_single_calls(folder: Path, parallel: bool) -> None:
    environment = world(folder, parallel=parallel)
    oracle = load_policy(PolicyConfig(model="oracle"), environment=environment)
    played = list(rollout(load_questions(folder / QUESTIONS), environment, oracle))
    assert {t.question.structure for t in played if score(t)["em"] < 1} == set()
    assert len(played) == 36
    assert all(t.completion.count("<tool_call>") <= 1 for one in played for t in one.turns)
    assert not any(turn.error for one in played for turn in one.turns)


def test_what_is_written_is_read_back_as_it_was(folder: Path) -> None:
    environment = world(folder, parallel=False)
    oracle = load_policy(PolicyConfig(model="oracle"), environment=environment)
    for one in rollout(load_questions(folder / QUESTIONS), environment, oracle):
        for turn in one.turns:
            thought, action = environment.protocol.parse(turn.completion)
            assert environment.protocol.render(thought, action) == turn.completion


def test_lines_say_what_the_json_says_and_are_numbered_on(folder: Path) -> None:
    question = load_questions(folder / QUESTIONS)[0]
    graph: Any = open_graph(folder)
    member = graph.member("g0000")
    lines, plain = LineTools(member, question), PropertyTools(member, question)
    schema, numbers = member.schema(), []
    for label in schema.labels:
        key = sorted(set(label.keys) - {"key"})[0]
        listed = Call(
            VALUES, {"property_name": key, "entity_name": label.name, "entity_type": "node"}
        )
        values = read_lines(lines.call(listed).text)
        assert values == json.loads(plain.call(listed).text)
        about = {"label": label.name, "property_name": key, "property_value": values[0]["values"]}
        for tool in (FIND, AROUND):
            text = lines.call(Call(tool, about)).text
            rows = json.loads(plain.call(Call(tool, about)).text)
            for row in rows if tool == AROUND else ():
                row["node"] = {"key": row["node"]["key"]}
            assert read_lines(text) == rows
            numbers += [int(re.match(r"\d+", line)[0]) for line in text.splitlines()[1:]]
    assert numbers == list(range(1, len(numbers) + 1))
    assert all(json.dumps(one.name) in lines.schema() for one in schema.labels)


def test_an_empty_result_and_a_wrong_call_are_said_plainly(folder: Path) -> None:
    question = load_questions(folder / QUESTIONS)[0]
    graph: Any = open_graph(folder)
    tools = LineTools(graph.member("g0000"), question)
    wrong = tools.call(Call(FIND, {"label": "No", "property_name": "a", "property_value": "b"}))
    assert wrong.error == "unknown_schema" and "there are" in wrong.text


@pytest.mark.parametrize(
    ("text", "rows", "how"),
    [
        ('#1 {"a": 1}\n#2 {"a": 2}', [{"a": 1}, {"a": 2}], "lines"),
        ('So.\n#1 {"a": 1}', [{"a": 1}], "lines"),
        ('They are:\n- {"a": 1}\n- {"a": 2}\n', [{"a": 1}, {"a": 2}], "lines"),
        ('1. {"a": 1},\n2. {"a": 2}', [{"a": 1}, {"a": 2}], "lines"),
        ('{"a": 1}', [{"a": 1}], "object"),
        ('{"a": 1}\nor\n{"a": 2}', [{"a": 2}], "object"),
        ('[{"a": 1},\n{"a": 2}]', [{"a": 1}, {"a": 2}], "plain"),
    ],
)
def test_rows_of_a_line_each_are_an_answer(text: str, rows: list[Any], how: str) -> None:
    found = read_rows(text)
    assert found is not None and (found[0], found[1].how) == (rows, how)


def test_numbered_rows_are_written_and_read() -> None:
    form = RowsForm(numbered=True)
    answer = FinalAnswer(('{"a":1}', '{"a":"</tool_call>"}'), "rows", "lines")
    assert form.read("Now.\n" + form.write(answer)) == ("Now.", answer)
    assert form.write(FinalAnswer((), "rows")) == "[]"


def test_rows_may_be_named_by_the_numbers_of_their_lines() -> None:
    form = RowsForm(numbered=True)
    pointed = FinalAnswer(("24.", "18."), "rows", "lines")
    assert form.read("Now.\n#2 24.\n#1 18.") == ("Now.", pointed)
    assert form.write(pointed) == "#2 24.\n#1 18."
    assert RowsForm().read("#1 18.")[1] is None  # without numbered lines nothing is pointed at
    both = FinalAnswer(("24.", '{"a":1}'), "rows", "lines")
    assert form.read('#2 24.\n#1 {"a": 1}') == ("", both)
    assert form.read("#2 24.\n#1 {'a': 1}")[1] is None


def test_the_row_of_a_line_is_what_it_shows() -> None:
    graph = MemoryPropertyGraph(
        [Node(key, ("P",), {"key": key}) for key in "ab"], [Edge("a", "R", "b", {"since": 3})]
    )
    tools = LineTools(graph, Question("q", "Which?", ()))
    wrong = tools.resolve(["1."])
    assert not isinstance(wrong, tuple) and wrong.error == "unknown_reference"
    assert "no line 1. shows a relationship" in wrong.text
    tools.call(Call(AROUND, {"label": "P", "property_name": "key", "property_value": "a"}))
    row = '{"since":3,"source_key":"a","target_key":"b"}'
    assert tools.resolve(["1.", '{"x":1}']) == (row, '{"x":1}')


def test_a_line_that_was_cut_off_names_no_row() -> None:
    nodes = [Node(key, ("P",), {"key": key}) for key in "abcd"]
    graph = MemoryPropertyGraph(nodes, [Edge("a", "R", key, {"since": 3}) for key in "bcd"])
    tools = LineTools(graph, Question("q", "Which?", ()), 150)
    about = {"label": "P", "property_name": "key", "property_value": "a"}
    assert tools.call(Call(AROUND, about)).hidden == 2
    assert isinstance(tools.resolve(["1."]), tuple)
    cut = tools.resolve(["2."])
    assert not isinstance(cut, tuple) and cut.error == "unknown_reference"
    tools.call(Call(FIND, about))  # its node is line 2 now, which is no relationship
    assert not isinstance(tools.resolve(["2."]), tuple)


def test_names_of_a_pool_are_the_same_in_all_graphs() -> None:
    size = size_of(60, words=1000)
    graphs = [random_graph(size, random.Random(seed)) for seed in range(30)]
    keys = {key for graph in graphs for key in graph.nodes}
    labels = {label.name for graph in graphs for label in graph.schema().labels}
    assert 800 < len(keys) <= 950 and len(labels) <= 50
    assert len({frozenset(graph.nodes) for graph in graphs}) == 30
    with pytest.raises(UserError, match="pool of 60 non-words is too small"):
        random_graph(size_of(60, words=60), random.Random(0))


def test_a_thought_copies_the_lines_of_the_schema_whatever_they_are_called() -> None:
    graph = MemoryPropertyGraph(
        [Node(key, ("Größe",), {"key": key, "Maß": "x"}) for key in "ab"],
        [Edge("a", "Größe", "b", {"seit": 3})],  # a type of relationship with the name of a label
    )
    wanted = {"relationship": "Größe", "property": "seit", "value": 3}
    thought, call = next(relationship_by_property(StepNotes(graph, wanted)))
    _, kind = schema_lines(graph.schema()).splitlines()
    copied, numbered = thought.splitlines()
    assert kind == f'{copied}: "Größe" to ["Größe"]'
    assert numbered == 'of 1) ; next 1) "Größe"'
    assert isinstance(call, Call) and call.arguments["property_name"] == "Maß"


def test_whatever_may_be_copied_stands_behind_the_number_of_its_line() -> None:
    hostile = 'a", 2+ "b, 1< "'
    graph = MemoryPropertyGraph(
        [Node(key, ("P",), {"key": key}) for key in ("a", hostile)],
        [Edge("a", "R", hostile, {"source_key": 1.5, "y": hostile, "z": True})],
    )
    tools = LineTools(graph, Question("q", "Which?", ()))
    about = {"label": "P", "property_name": "key"}
    first, second = (
        tools.call(Call(AROUND, {**about, "property_value": key})).text for key in ("a", hostile)
    )
    text = json.dumps(hostile)
    values = f'{{"source_key":1+ 1.5,"y":1++ {text},"z":1+++ true,'
    ends = f'"source_key":1< "a","target_key":1> {text}}}, 1@ "P"]'
    assert first.splitlines()[1] == f'1. ["R", "out", {values}{ends}'
    assert '2. ["R", "in", ' in second and '"source_key":2< "a"' in second
    for shown, side, key in ((first, "outgoing", hostile), (second, "incoming", "a")):
        (row,) = read_lines(shown)
        assert row["relationship"]["properties"] == {"source_key": 1.5, "y": hostile, "z": True}
        assert (row["relationship"]["direction"], row["node"]) == (side, {"key": key})
