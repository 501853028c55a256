"""Any policy as the expert, over real HTTP: tried again, labelled, resumed, given the actions."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.experts.referenced import KEPT, play_referenced
from data_pipeline.experts.rejection import fault
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.config import parse_config
from graphwalker.errors import PolicyError, UserError
from graphwalker.files import read_jsonl, read_records
from graphwalker.graphs.base import Entity
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.base import Completion, Sampling
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory
from support.chat_server import Act
from support.eval_toy import make_toy
from support.teacher_server import AgentServer, teach
from support.toy import toy_graph

RIGHT = {"q01", "q02", "q04", "q05", "q06", "q08"}


def filtering(turn: int, name: str) -> Act | None:
    """Keep back what would be said of the second question, as Azure does."""
    filtered = {"error": {"code": "content_filter", "message": "filtered"}}
    return Act(status=400, body=filtered) if name == "q02" else None


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Path:
    return make_toy(tmp_path_factory.mktemp("toy"))


def config(url: str, count: int = 6, **more: Any) -> ExpertConfig:
    api = {"base_url": url, "api_key_env": "", "retries": 1, "backoff_s": 0.01, "timeout_s": 5}
    policy = {"model": "tiny", "api": {**api, **more.pop("api", {})}}
    mix = {"1-hop": 2, "2-hop": 1, "3-hop": 1, "2I": 2}
    return parse_config(ExpertConfig, {"count": count, "mix": mix, "policy": policy, **more}, "t")


def run_experts(toy: Path, out: Path, chosen: ExpertConfig) -> dict[str, Any]:
    return make_experts(toy / "graph", chosen, toy / "q.jsonl", out)


def kept(out: Path) -> dict[str, Trajectory]:
    rows = read_records(out / "graphroll.jsonl", Trajectory.from_json)
    return {row.question.id: row for row in rows}


@pytest.fixture(scope="module")
def made(toy, tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    out = tmp_path_factory.mktemp("roll")
    with teach(kind=AgentServer) as server:
        return out, run_experts(toy, out, config(server.url, tries=2))


def test_right_and_grounded_episodes_are_kept_and_the_rest_is_counted_by_reason(made):
    out, card = made
    assert set(kept(out)) == RIGHT
    assert all(row.scores["em"] == row.scores["grounded"] == 1.0 for row in kept(out).values())
    dropped = {row["id"]: row["reason"] for row in read_jsonl(out / "dropped.jsonl")}
    assert set(dropped.values()) <= {"wrong_answer", "malformed"}
    assert card["yield"] == round(6 / (6 + len(dropped)), 4)


def test_the_error_and_its_recovery_are_labelled_by_turn(made):
    out, card = made
    (error,) = kept(out)["q02"].provenance["errors"]
    assert error["kind"] == "unknown_relation" and error["what"] == "music.artist.album"
    assert (error["turn"], error["recovered_at"], error["recovered"]) == (1, 2, True)
    assert card["with_an_error"] == 2 and card["errors"] == {"unknown_relation": 2}


def test_a_question_that_fails_is_tried_again(toy, tmp_path):
    first = [Act('<answer> ["Verria"] </answer>')]

    def forgetful(turn: int, name: str) -> Act | None:
        return first.pop() if first and (turn, name) == (0, "q02") else None

    with teach(forgetful, AgentServer) as server:
        chosen = config(server.url, count=1, tries=3, mix={"2-hop": 1})
        card = run_experts(toy, tmp_path, chosen)
    (row,) = read_jsonl(tmp_path / "graphroll.jsonl")
    assert (row["id"], row["unit"], row["rejected"]) == ("q02#1", "q02#0", "wrong_answer")
    assert (card["episodes"], card["rejected"]) == (2, {"wrong_answer": 1})


def test_a_dead_server_ends_the_run_with_one_line_and_it_goes_on(toy, tmp_path, made):
    with pytest.raises(UserError, match=r"expert: .*no connection.*the same command resumes"):
        run_experts(toy, tmp_path, config("http://127.0.0.1:9/v1", tries=2))
    assert not (tmp_path / "run.json").exists()
    with teach(kind=AgentServer) as server:  # at another address: the same run
        run_experts(toy, tmp_path, config(server.url, tries=2))
    whole = (made[0] / "graphroll.jsonl").read_bytes()
    assert (tmp_path / "graphroll.jsonl").read_bytes() == whole


def test_what_a_content_filter_keeps_back_is_one_question_less(toy, tmp_path):
    with teach(filtering, AgentServer) as server:
        run_experts(toy, tmp_path, config(server.url))
    dropped = {row["id"]: row["reason"] for row in read_jsonl(tmp_path / "dropped.jsonl")}
    assert set(kept(tmp_path)) == RIGHT - {"q02"} and dropped["q02#0"] == "content_filter"


def test_a_question_in_flight_at_a_kill_is_finished_and_nothing_is_paid_twice(toy, tmp_path, made):
    with teach(kind=AgentServer) as server:
        run_experts(toy, tmp_path, config(server.url, tries=2))
        path = tmp_path / "attempts.jsonl"
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[1:3]) + lines[3][:40])  # the first one was never written
        run_experts(toy, tmp_path, config(server.url, tries=2))
        assert set(server.asked.values()) == {1}  # what it was answered before stood in the store
    assert set(kept(tmp_path)) == RIGHT
    assert len(list(read_jsonl(tmp_path / "graphroll.jsonl"))) == 6


GRAPH = toy_graph()
ENVIRONMENT = Environment(GRAPH, EnvironmentConfig(prompt="compact"))
ADA = Entity("m.0ada", "Ada Mbeki")
HOPS = (Hop("people.person.place_of_birth"), Hop("location.location.containedby"))
ABOUT = ("Which land was Ada Mbeki born in?", (ADA,), (Answer("Verria", "m.0land"),))
QUESTIONS = [Question(f"q{i}", *ABOUT, query=Query((Branch(ADA, HOPS),))) for i in range(2)]


class Thinker:
    """Shown an action, it writes `thoughts[turn]` before it; unaided, it takes the action that it
    was shown there only where its thought has the word "so"."""

    name = "thinker"

    def __init__(self, thoughts):
        self.thoughts, self.asked, self._done, self._shown = thoughts, [], [], {}

    def submit(self, request):
        self.asked.append(request)
        episode, number, how = request.key.rsplit("/", 2)
        note = request.messages[-1].content
        if how == "aided":
            self._shown[episode, number] = re.search(r"<(kg-query|answer)>.*</\1>", note)[0]
        action = self._shown[episode, number]
        thought = self.thoughts[int(number)]
        if how == "unaided" and "so" not in thought.split():
            action = '<answer> ["Drama"] </answer>'
        text = f"<think> {thought} </think>\n{action}"
        self._done.append((request.key, Completion(text)))

    def collect(self):
        done, self._done = self._done, []
        return done

    def release(self, key):
        pass


GOOD = "I look there, so be it."


def thought_by(*thoughts: str, questions=QUESTIONS):
    policy = Thinker([*thoughts, *["Hm."] * 9])
    return policy, list(play_referenced(questions, ENVIRONMENT, policy, Sampling()))


def plain():
    oracle = OraclePolicy(GRAPH, ENVIRONMENT.protocol, speaker=ENVIRONMENT.speaker)
    return list(rollout(QUESTIONS, ENVIRONMENT, oracle))


def test_thoughts_that_lead_to_the_action_are_kept_and_others_stay_the_oracles() -> None:
    _, episodes = thought_by(GOOD, "I do not know.", GOOD)
    for episode, gold in zip(episodes, plain(), strict=True):
        assert episode.provenance[KEPT] == [0, 2]
        assert [t.action for t in episode.turns] == [t.action for t in gold.turns]
        assert [t.thought for t in episode.turns][:3] == [GOOD, gold.turns[1].thought, GOOD]
        assert ENVIRONMENT.protocol.parse(episode.turns[0].completion)[0] == GOOD
        assert episode.policy == "oracle+thinker"


def test_nothing_of_the_reference_stands_in_the_data() -> None:
    policy, episodes = thought_by(GOOD, GOOD, GOOD)
    said = [m.content for e in episodes for t in e.turns for m in t.context]
    assert not any("settled" in text or "Your thought on this" in text for text in said)
    later = [r for r in policy.asked if r.key.startswith("q0") and "/1/" in r.key]
    assert [m.content for m in later[0].messages if m.role == "assistant"] == [
        episodes[0].turns[0].completion  # each turn is asked for after the thoughts that were kept
    ]


def test_a_thought_that_knows_too_much_or_breaks_the_form_is_not_kept() -> None:
    for thought in ["Verria it is, so be it.", "<answer> so"]:
        _, episodes = thought_by(thought)
        assert episodes[0].provenance[KEPT] == []


def test_an_episode_without_a_thought_of_the_policys_is_rejected() -> None:
    _, (none, _) = thought_by("Hm.")
    _, (one, _) = thought_by(GOOD)
    assert fault(none.with_scores(**score(none))) == "no_thought"
    assert fault(one.with_scores(**score(one))) == ""


def test_questions_without_gold_actions_and_failures_are_told_of() -> None:
    with pytest.raises(UserError, match="referenced: q0 has no query, "):
        thought_by(questions=[replace(QUESTIONS[0], query=None), QUESTIONS[1]])

    class Broken(Thinker):
        def collect(self):
            return [(request.key, PolicyError("no answer")) for request in self.asked]

    with pytest.raises(PolicyError, match="no answer"):
        list(play_referenced(QUESTIONS, ENVIRONMENT, Broken([GOOD] * 9), Sampling()))
    with pytest.raises(ValidationError, match="referenced is for a policy"):
        ExpertConfig(referenced=True)
