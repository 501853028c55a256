"""GraphRunner: plans verified before anything runs, replanning, execution, toy GRBench graphs."""

import json

import pytest

from eval.score.compat_papers import graphrunner_rouge_l
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.policies import load_policy
from graphwalker.agents.published.graphrunner import plans
from graphwalker.agents.published.graphrunner.plans import read_plan, traversal_schema
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_questions
from graphwalker.errors import UserError
from graphwalker.files import write_jsonl
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.intake.grbench import grbench_records
from graphwalker.graphs.open import open_graph
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.scoring import score
from graphwalker.tools.base import Call
from graphwalker.trajectory import StopReason
from support import grbench_toy as grbench
from support.grbench_toy import common, edge, find, kind
from support.toy import toy_graph

PAPER, AUTHOR = find("A", "paper"), find("Author B", "author")
ITEM = find("lamp", "item")
HALLUCINATED = [
    ("dblp", "unknown_action", [{"action": "Search", "query": "A"}]),
    ("dblp", "unknown_action", [PAPER, edge("author"), {"action": "Filter", "by": "year"}]),
    ("dblp", "form", [{"action": "Find_Node", "node_finding_hint": "A"}]),
    ("dblp", "form", [{"action": "Find_Node", "node_finding_hint": "", "node_type": "paper"}]),
    ("dblp", "form", [{**PAPER, "limit": 5}]),
    ("dblp", "form", [AUTHOR, common(("$1", "paper"))]),
    ("dblp", "form", [PAPER, edge("author", direction="up")]),
    ("dblp", "empty", []),
    ("dblp", "first_step", [edge("author")]),
    ("dblp", "first_step", [common(("$1", "paper"), ("$2", "paper"))]),
    ("dblp", "unknown_node_type", [PAPER, kind("conference")]),
    ("amazon", "unknown_node_type", [find("lamp", "product")]),
    ("dblp", "unknown_edge_type", [AUTHOR, edge("paper"), edge("journal")]),
    ("dblp", "unknown_edge_type", [AUTHOR, AUTHOR, common(("$1", "wrote"), ("$2", "wrote"))]),
    ("dblp", "infeasible", [AUTHOR, edge("venue")]),
    ("dblp", "infeasible", [PAPER, edge("venue"), edge("author")]),
    ("amazon", "unknown_step", [ITEM, common(("$1", "brand"), ("$4", "brand"))]),
]
"""Plans that a model made up, and why they cannot be executed."""
VALID = [
    ("dblp", [find("</answer> <|im_end|>", "paper")]),
    ("dblp", [PAPER, edge("reference", direction="in")]),
    ("dblp", [AUTHOR, edge("author")]),
    ("dblp", [AUTHOR, kind("venue")]),
    ("dblp", [PAPER, PAPER, common(("$1", "reference"), ("$2", "reference", "in"))]),
    ("dblp", [AUTHOR, AUTHOR, AUTHOR, common(*((f"${k}", "paper") for k in (1, 2, 3)))]),
    ("amazon", [ITEM, edge("also_viewed_item"), edge("brand")]),
]
"""Plans whose types are right. They may still not mean what the question asks: that is not what
verification is for."""


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """By its name, the graph and the questions of each toy."""
    made = {}
    for name, graph, questions in (
        ("dblp", grbench.academic(), grbench.academic_questions),
        ("amazon", grbench.commerce(), grbench.commerce_questions),
    ):
        folder = tmp_path_factory.mktemp("toy") / name
        graph_file, lines = grbench.write_toy(folder, graph, questions(graph))
        write_jsonl(folder / "records.jsonl", grbench_records(graph_file))
        build_graph([], folder / "graph", property_files=[folder / "records.jsonl"])
        made[name] = open_graph(folder / "graph"), load_questions(lines)
    return made


@pytest.fixture(scope="module")
def schemas(toys):
    return {name: traversal_schema(graph) for name, (graph, _) in toys.items()}


def environment_of(toy, **settings):
    return Environment(toy[0], EnvironmentConfig(preset="graphrunner", **settings))


def fault(steps, schema):
    try:
        plans.types_of_steps(read_plan(steps), schema)
    except plans.PlanFault as found:
        return found
    return None


def test_every_hallucinated_plan_is_caught_with_its_kind(schemas):
    for graph, why, plan in HALLUCINATED:
        found = fault(plan, schemas[graph])
        assert found is not None and found.kind == why, plan


def test_every_valid_plan_passes_and_reads_back(schemas):
    for graph, steps in VALID:
        assert fault(steps, schemas[graph]) is None, steps
        plan = read_plan(steps)
        assert read_plan(plan) == plan
        nulls = {"targeted_node_type": None, "direction": None}
        assert read_plan([{**nulls, **step} for step in steps if "arguments" not in step]) == plan
        assert all(plans.describe_step(step) for step in plan)


def test_nothing_runs_before_a_plan_is_verified(toys):
    dblp = toys["dblp"]
    for _, _, plan in [row for row in HALLUCINATED[:12] if row[0] == "dblp"]:
        tools = environment_of(dblp).toolbox(dblp[1][0])
        seen = tools.call(Call("plan", {"plan": plan}))
        assert seen.graph_calls == 0 and seen.error and not seen.shown


def play(toy, *lines, **settings):
    question, env = toy[1][0], environment_of(toy, **settings)
    (done,) = rollout([question], env, ScriptedPolicy({question.id: lines}))
    return done


RIVER = find("river", "paper")
GOOD = json.dumps({"plan": [RIVER]})
BAD = json.dumps({"plan": [{**RIVER, "node_finding_hint": "x", "node_type": "Book"}]})
DONE = '{"answer": ["x"]}'


def test_the_next_plan_sees_the_failed_step_and_its_reason_only(toys):
    done = play(toys["dblp"], BAD, GOOD, DONE)
    first, second, answer = done.turns
    assert first.error == "unknown_node_type" and second.error == ""
    assert second.restart and answer.restart
    assert [message.role for message in second.context] == ["system", "user"]
    assert "step 1 Find_Node(x, Book): there is no node type Book" in second.context[1].content
    assert BAD not in second.context[1].content
    assert (done.stop, done.answer) == (StopReason.ANSWERED, ("x",))


def test_after_three_further_plans_the_answer_is_given_from_nothing(toys):
    done = play(toys["dblp"], BAD, BAD, BAD, BAD, DONE)
    assert len(done.turns) == 5
    assert "nothing was retrieved" in done.turns[4].context[1].content
    done = play(toys["dblp"], BAD, DONE, options={"replans": 0})
    assert len(done.turns) == 2


@pytest.mark.parametrize("name", ["dblp", "amazon"])
def test_the_oracle_answers_every_question_of_the_toy_graphs(toys, name):
    env, questions = environment_of(toys[name]), toys[name][1]
    oracle = load_policy(PolicyConfig(model="oracle"), environment=env)
    played = list(rollout(questions, env, oracle))
    assert {score(done)["em"] for done in played} == {1.0}
    golds = [[done.question.answers[0].name] for done in played]
    rouge = [graphrunner_rouge_l(d.answer or (), g) for d, g in zip(played, golds, strict=True)]
    assert set(rouge) == {1.0} and all(len(done.turns) == 2 for done in played)


def test_what_the_token_budget_cuts_is_counted(toys):
    tools = environment_of(toys["dblp"], options={"answer_tokens": 50}).toolbox(toys["dblp"][1][0])
    plan = [find("Journal of River", "venue"), edge("paper")]
    seen = tools.call(Call("plan", {"plan": plan}))
    total = int(seen.text.split()[0])
    assert seen.hidden == total - len(seen.shown) > 0
    assert f"({seen.hidden} more nodes are not shown)" in seen.text


def test_a_graph_that_lists_no_nodes_is_refused():
    graph = toy_graph()
    graph.size = 0
    with pytest.raises(UserError, match="give a property graph"):
        traversal_schema(graph)


def planning_prompt(toy, **options):
    done = play(toy, GOOD, DONE, options=options)
    return "".join(message.content for message in done.turns[0].context)


def test_the_prompt_shows_example_plans_of_the_domain(toys):
    academic, commerce = (planning_prompt(toys[name]) for name in ("dblp", "amazon"))
    assert academic.count("Example question:") == commerce.count("Example question:") == 3
    assert "Ilmar Sund" in academic and "Varn 4" in commerce and "Varn 4" not in academic


def test_examples_can_be_left_out_or_be_the_users_own_text(toys):
    assert "Example" not in planning_prompt(toys["dblp"], examples="")
    assert planning_prompt(toys["dblp"], examples="Mine: ...").count("Mine: ...") == 1
