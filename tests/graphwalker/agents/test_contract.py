"""What every preset of the registry keeps to, whatever its paper: a new one is held to it, too."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from eval.run.evaluate import evaluate, evaluate_with
from eval.run.workers import WorkerProcesses, worker_maker
from graphwalker.agents.presets import presets
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.answers.rows import Rows
from graphwalker.config import parse_config
from graphwalker.errors import GraphError, PolicyError, UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.base import Entity
from graphwalker.graphs.memory import MemoryGraph
from graphwalker.graphs.property.memory import Edge, MemoryPropertyGraph, Node
from graphwalker.policies.chat.config import ChatApiConfig
from graphwalker.policies.chat.policy import ChatPolicy
from graphwalker.protocols.base import Malformed
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.tokens.formats import chat_format
from graphwalker.tokens.segments import IGNORED, training_rows
from graphwalker.tokens.tool_calls import UnreadableCall, read_calls
from graphwalker.tools.base import abilities_of
from graphwalker.trajectory import Message, StopReason, Trajectory
from graphwalker.workers.pool import Processes
from support.chat_server import Act, serve
from support.grammars import allows
from support.hostile_names import HOSTILE_NAMES
from support.preset_worlds import WORLDS, Kept, Saying, environment_of, player, playing, world_of
from support.token_kinds import byte_level

every_preset = pytest.mark.parametrize("preset", sorted(presets()))
NONSENSE = (
    "", "I do not know.", "<answer>", "<tool_call>{}</tool_call>", '{"answer": 7}', "\ud83d",
    "<think>" * 50, '<kg-query> get_relations("', '{"action": "fly", "to": ["the", "moon"]}',
    "[" * 5000,
)  # fmt: skip


def played(environment, questions, policy=None, **options):
    chosen = policy or player(environment)
    return [without_times(t) for t in rollout(questions, environment, chosen, **options)]


@every_preset
def test_whatever_is_written_the_budget_ends_the_episode(preset):
    world = world_of(preset)
    environment = environment_of(preset, world.graph, max_turns=4, max_malformed=0)
    for said in NONSENSE:
        policy = Saying([said])
        (done,) = played(environment, world.questions[:1], policy, retries=0)
        assert not done.stop.infrastructure_failure
        assert len(policy.requests) <= 4 + 1  # the forced answer
        assert len(done.turns) <= len(policy.requests)
        assert Trajectory.from_json(json.loads(json.dumps(done.to_json()))) == done


@every_preset
def test_malformed_completions_in_a_row_end_it_and_each_is_told_what_to_write(preset):
    world = world_of(preset)
    environment = environment_of(preset, world.graph, max_malformed=2)
    (done,) = played(environment, world.questions[:1], Saying(["Well."]), retries=0)
    if done.answer is not None:  # any text is an answer there
        return
    assert done.stop is StopReason.MALFORMED
    assert all(turn.error == "malformed" for turn in done.turns)
    told = [turn.observation for turn in done.turns[:-1]]
    assert all(len(text) > 20 for text in told)


@every_preset
def test_unknown_names_are_the_models_mistake_and_not_a_failure(preset):
    world = world_of(preset)
    environment = environment_of(preset, world.graph, max_turns=3)
    calls = [tool for tool in presets()[preset].calls if tool != "think"]  # it names nothing
    hints = [environment.protocol.hint(tool) for tool in calls]
    for hint in filter(None, hints):
        text = environment.protocol.parse(hint)
        assert text[1] is not None
        (done,) = played(environment, world.questions[:1], Saying([hint]), retries=0)
        assert not done.stop.infrastructure_failure
        assert done.turns[0].error, f"{hint!r} names what is not in the graph"
        assert len(done.turns[0].observation) > 10


@every_preset
def test_an_outage_is_an_infrastructure_failure_and_a_retry_leaves_no_trace(preset):
    world = world_of(preset)
    environment = environment_of(preset, world.graph)
    clean = played(environment, world.questions[:1])
    if not any(turn.graph_calls for turn in clean[0].turns):
        pytest.skip("asks no graph")
    (lost,) = played(failing(environment_of(preset, world.graph), 99), world.questions[:1])
    assert (lost.stop, lost.answer) == (StopReason.GRAPH_ERROR, None)
    assert played(failing(environment_of(preset, world.graph), 1), world.questions[:1]) == clean
    down = Saying([PolicyError("the server is down")])
    (lost,) = played(environment, world.questions[:1], down)
    assert (lost.stop, lost.answer) == (StopReason.POLICY_ERROR, None)


def failing(environment, times):
    """The environment; what its first `times` tool boxes are asked for raises `GraphError`."""
    make, left = environment._toolbox, [times]

    def toolbox(question):
        box: Any = make(question)
        if left[0]:
            left[0] -= 1
            box.__class__ = type("Down", (type(box),), {"__slots__": (), "__getattribute__": down})
        return box

    def down(self, name):
        if not name.startswith("_") and name != "entity_id":
            raise GraphError("the graph is down")
        return object.__getattribute__(self, name)

    environment._toolbox = toolbox
    return environment


@every_preset
def test_contexts_and_completions_are_the_exact_conversation(preset):
    """Every request is what the turns before it say, and a restart is marked where it is one."""
    world = world_of(preset)
    environment = environment_of(preset, world.graph)
    for policy in (player(environment), Saying(["Well.", "What?"])):
        kept = Kept(policy)
        for done in played(environment, world.questions, kept, retries=0):
            asked = [r.messages for r in kept.requests if r.key == f"{done.question.id}#0"]
            marks = [r.restart for r in kept.requests if r.key == f"{done.question.id}#0"]
            said: tuple[Message, ...] = ()
            for number, turn in enumerate(done.turns):
                assert turn.restart == marks[number]
                said = turn.context if turn.restart else (*said, *turn.context)
                assert asked[number] == said
                said = (*said, Message("assistant", turn.completion))
            assert not done.turns or not done.turns[0].restart


@every_preset
def test_the_trained_tokens_are_the_completions_and_a_context_is_a_row(preset):
    world, letters = world_of(preset), byte_level()
    for done in played(environment_of(preset, world.graph), world.questions):
        rows = training_rows(done, chat_format("chatml"), letters)
        assert len(rows) == 1 + sum(turn.restart for turn in done.turns)
        trained = [i for row in rows for i in row.labels if i != IGNORED]
        said = "".join(f"{turn.completion}<|im_end|>" for turn in done.turns)
        assert letters.decode(trained) == said
        for row in rows:
            read = letters.decode(row.input_ids)
            assert all(m.content in read for m in done.turns[0].context) or done.turns[0].restart \
                or len(rows) > 1  # fmt: skip


@every_preset
def test_a_killed_run_resumes_to_the_same_files(preset, tmp_path):
    world = world_of(preset)
    environment = environment_of(preset, world.graph)
    whole = evaluate(world.questions, environment, player(environment), tmp_path / "whole")

    class Killed(Kept):
        def collect(self):
            if len(self.requests) > 2:
                raise KeyboardInterrupt
            return super().collect()

    folder, once = tmp_path / "killed", {"concurrency": 1}
    if len(world.questions) > 1:
        with pytest.raises(KeyboardInterrupt):
            evaluate(world.questions, environment, Killed(player(environment)), folder, **once)
    evaluate(world.questions, environment, player(environment), folder, **once)
    files = [[without_times(Trajectory.from_json(r)) for r in read_jsonl(one / "predictions.jsonl")]
             for one in (whole, folder)]  # fmt: skip
    assert files[0] == files[1] and len(files[0]) == len(world.questions)


@every_preset
def test_one_episode_at_once_or_eight_are_the_same(preset):
    world = world_of(preset)
    environment = environment_of(preset, world.graph)
    one = played(environment, world.questions, samples=2, concurrency=1)
    assert played(environment, world.questions, samples=2, concurrency=8) == one
    policies = Saying(["Well.", "What?"], backwards=True), Saying(["Well.", "What?"])
    eight, alone = (played(environment, world.questions, policy, concurrency=most)
                    for policy, most in zip(policies, (8, 1), strict=True))  # fmt: skip
    assert eight == alone


@pytest.mark.slow
@every_preset
def test_one_worker_process_or_eight_write_the_same_bytes(preset, tmp_path):
    world = world_of(preset)
    environment = environment_of(preset, world.graph)
    name = player(environment).name
    for count in (1, 8):
        # Forked, as eight fresh interpreters for each preset would take minutes.
        forked = Processes(worker_maker, (playing, preset, count), count, start="fork")
        with WorkerProcesses(playing, preset, count, environment, name, 2, forked) as workers:
            evaluate_with(workers, world.questions, tmp_path / str(count), samples=2)
    for file in ("predictions.jsonl", "samples.jsonl"):
        one, eight = ((tmp_path / count / file).read_bytes() for count in ("1", "8"))
        assert one == eight and one.count(b"\n") in (len(world.questions), 2 * len(world.questions))


@every_preset
def test_our_own_words_reach_the_model_as_they_are_written(preset):
    environment = environment_of(preset, max_malformed=0, max_turns=12)
    for lines in (NONSENSE, ('<answer> [""] </answer>', "<think> x", "</answer>", "")):
        for done in played(environment, world_of(preset).questions[:1], Saying(lines)):
            texts = [m.content for turn in done.turns for m in turn.context]
            assert texts and not any("\\u003c" in text for text in texts)


@every_preset
def test_the_form_of_an_answer_that_a_hint_shows_is_no_answer(preset):
    protocol = environment_of(preset).protocol
    assert isinstance(protocol.parse(protocol.force())[1], Malformed)


def hostile_world(hostile):
    names = {f"m.t{k}": f"{name} topic" for k, name in enumerate(hostile)}
    names |= {f"m.e{k}": name for k, name in enumerate(hostile)}
    facts = [(f"m.t{k}", "made.up.leads_to", f"m.e{k}") for k in range(len(hostile))]
    graph = MemoryGraph(facts, names)
    questions = []
    for k, name in enumerate(hostile):
        topic, gold = Entity(f"m.t{k}", names[f"m.t{k}"]), (Answer(name, f"m.e{k}"),)
        query = Query((Branch(topic, (Hop("made.up.leads_to"),)),))
        questions.append(Question(f"q{k}", "Where to?", (topic,), gold, query=query))
    return graph, questions


ON_ANY_GRAPH = sorted(set(presets()) - set(WORLDS))


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("preset", ON_ANY_GRAPH)
def test_hostile_names_are_copied_and_answered_and_never_act(preset, every):
    """A step of three meets every fragment and every setting; all names come by night."""
    assert len(set(HOSTILE_NAMES)) == 420
    graph, questions = hostile_world(HOSTILE_NAMES[::every])
    environment = environment_of(preset, graph)
    walked = environment.speaker is not None
    for done in played(environment, questions):
        assert not done.stop.infrastructure_failure
        shown = [turn for turn in done.turns[1:] if not turn.restart]  # observations
        assert not any("<|im_end|>" in m.content for turn in shown for m in turn.context)
        if walked:
            assert score(done)["em"] == 1.0, done.question.answers[0].name


@pytest.mark.long
def test_hostile_keys_and_values_of_a_property_graph_are_copied_and_never_act():
    """The maze's cells are numbers; every other preset walks `hostile_world`. The oracle keeps a
    graph of its own by key, in which none begins with a quotation mark."""
    names = [n for n in HOSTILE_NAMES if not n.startswith('"')]
    ids = {name: f"n{k}" for k, name in enumerate(names)}
    nodes = [Node(ids[n], ("Thing",), {"key": n, "name": f"{n} of it"}) for n in names]
    edges = [Edge(ids[a], "NEXT", ids[b], {"name": a}) for a, b in pairwise(names)]

    def ask(key, text, structure, gold, /, **values):
        about = {"values": {"source": "Thing", **values}}
        return Question(key, text, (), annotations=about, structure=structure, gold=Rows(gold))

    asked = []
    for k, name in enumerate(names):
        value = {"property": "name", "value": f"{name} of it"}
        gold = ({"node_key": name},)
        asked.append(ask(f"q{k}", f"Which have {name}?", "node_by_property", gold, **value))
        gold = tuple({"target_node_key": n} for n in names[k + 1 : k + 3])
        way = ask(
            f"w{k}", f"And from {name}?", "path_from_node", gold, target="Thing", key=name, hops=2
        )
        asked += [replace(way, topic_entities=(Entity(name, name),))] if gold else []
    environment = environment_of("graphwalk", MemoryPropertyGraph(nodes, edges))
    for done in played(environment, asked):
        shown = [m.content for turn in done.turns[1:] for m in turn.context]
        assert not any("<|im_end|>" in text or text.count("<tool_call>") for text in shown)
        assert score(done)["em"] == 1.0, done.question.id


class Followed(Kept):
    """Checks that what the policy writes is what its grammar allows."""

    def collect(self):
        done = super().collect()
        for key, completion in done:
            request = next(one for one in reversed(self.requests) if one.key == key)
            assert allows(request.grammar, completion.text), (completion.text, request.grammar)
        return done


@every_preset
def test_constrained_decoding_allows_all_that_the_oracle_writes(preset):
    world = world_of(preset)
    try:
        environment = environment_of(preset, world.graph, constrained=True)
    except UserError as error:
        assert str(error).startswith("environment.constrained")
        return
    assert environment.agent.constrained
    policy = Followed(player(environment))
    done = played(environment, world.questions, policy)
    assert policy.requests and all(score(one)["em"] == 1.0 for one in done)


def act(text, on_wire):
    """The completion as a server sends it."""
    try:
        before, calls = read_calls(text)
    except UnreadableCall:
        calls, before = [], text
    if not (calls and on_wire):
        return Act(text)
    listed = [
        {"id": f"c{k}", "function": {"name": c.tool, "arguments": json.dumps(c.arguments)}}
        for k, c in enumerate(calls)
    ]
    message = {"role": "assistant", "content": before.strip() or None, "tool_calls": listed}
    return Act(body={"choices": [{"message": message, "finish_reason": "tool_calls"}]})


def bare(trajectory):
    """Without what a server alone says of it."""
    turns = tuple(replace(turn, tokens=0) for turn in trajectory.turns)
    return replace(without_times(replace(trajectory, turns=turns)), policy="", usage={})


@pytest.mark.parametrize("form", ["wire", "text"])
@every_preset
def test_an_episode_over_http_is_the_episode(preset, form):
    world = world_of(preset)
    environment = environment_of(preset, world.graph)
    question = world.questions[-1:]
    (expected,) = rollout(question, environment, player(environment), retries=0)
    acts = [act(turn.completion, form == "wire") for turn in expected.turns]
    with serve(*acts) as server:
        settings: dict[str, Any] = {"base_url": server.url, "api_key_env": "", "tools": form}
        policy = ChatPolicy("tiny", parse_config(ChatApiConfig, settings, "test"))
        (done,) = rollout(question, environment, policy, retries=0)
        policy.close()
    assert bare(done) == bare(expected)
    told = [request.get("tools") for request in server.requests]
    calls = abilities_of(environment.protocol).schemas
    assert all(bool(tools) == bool(calls and form == "wire") for tools in told)
