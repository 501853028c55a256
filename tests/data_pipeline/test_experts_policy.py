"""Any policy as the expert: over real HTTP, tried again, rejected, labelled, killed and resumed."""

from pathlib import Path
from typing import Any

import pytest

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.experts import make_experts
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl, read_records
from graphwalker.trajectory import Trajectory
from support.chat_server import Act
from support.eval_toy import make_toy, toy_questions, trained_script
from support.teacher_server import TeacherServer, teach

SCRIPT = trained_script()
TEXTS = {question.text: question.id for question in toy_questions()}
RIGHT = {"q01", "q02", "q04", "q05", "q06", "q08"}


class AgentServer(TeacherServer):
    """An agent behind the API: it plays the script of the question."""

    def reply(self, number: int, body: dict[str, Any]) -> Act:
        said = " ".join(message["content"] for message in body["messages"])
        name = next(TEXTS[text] for text in TEXTS if text in said)
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return self.turn(name, turn, body["seed"])

    def turn(self, name: str, turn: int, seed: int) -> Act:
        return Act(str(SCRIPT[name][turn]))


class ForgetfulServer(AgentServer):
    """Gets the second question wrong when it is first asked."""

    first: int | None = None

    def turn(self, name: str, turn: int, seed: int) -> Act:
        if name == "q02" and turn == 0:
            self.first = self.first or seed
            if seed == self.first:
                return Act('<answer> ["Verria"] </answer>')
        return super().turn(name, turn, seed)


class FilteringServer(AgentServer):
    """Keeps back what it would say of the second question, as Azure does."""

    def turn(self, name: str, turn: int, seed: int) -> Act:
        filtered = {"error": {"code": "content_filter", "message": "filtered"}}
        if name == "q02":
            return Act(status=400, body=filtered)
        return super().turn(name, turn, seed)


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
    with teach(kind=ForgetfulServer) as server:
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
    with teach(kind=FilteringServer) as server:
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
