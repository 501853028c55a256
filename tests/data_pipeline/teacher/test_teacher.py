"""A chat model as the teacher, over real HTTP: good, bad, slow, refusing, and killed."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.stages import filter_questions, word_questions
from data_pipeline.synthesize import make_walks, synthesize
from data_pipeline.teacher.client import TeacherClient
from data_pipeline.teacher.config import TeacherConfig
from graphwalker.cli.app import app, run
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from support.chat_server import Act
from support.teacher_server import TeacherServer, teach, well

FILES = ("walks.jsonl", "questions.jsonl", "graphsynth.jsonl", "dropped.jsonl")
COUNT = 5


def config(server: TeacherServer, count: int = COUNT, **teacher: Any) -> SynthConfig:
    settings = {"backoff_s": 0.01, "api_key_env": "", "concurrency": 4, "timeout_s": 5, **teacher}
    about = {"base_url": server.url, "model": "tiny", **settings}
    return parse_config(SynthConfig, {"count": count, "teacher": about}, "test")


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def usage(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "teacher/spent.json").read_text())


def answers(folder: Path) -> set[str]:
    """Under which keys answers are stored."""
    database = sqlite3.connect(folder / "teacher/answers.sqlite")
    with closing(database):
        return {key for (key,) in database.execute("SELECT key FROM answers")}


@pytest.fixture(scope="module")
def undisturbed(graph, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("taught")
    with teach() as server:
        synthesize(graph, config(server), out)
        assert max(server.asked.values()) == 1 and server.most_at_once <= 4
    return out


def test_questions_scores_and_thoughts_are_the_teachers(undisturbed):
    for row in read_jsonl(undisturbed / "graphsynth.jsonl"):
        question = row["question"]
        assert question["question"].startswith("From ")
        assert question["query"]["scores"] == {"path": 9.0, "relevance": 9.0, "coherence": 9.0}
        assert {turn["thought"] for turn in row["turns"]} == {
            "I look at what was shown. The next step follows from it."
        }
        assert row["scores"]["em"] == 1.0
        assert row["turns"][0]["completion"].startswith("<think> I look at")


def test_an_unruly_server_changes_nothing(graph, undisturbed, tmp_path):
    acts = (Act(status=429), Act(status=500), Act(cut_to=30), Act(body={"choices": []}))

    def unruly(number: int, prompt: str) -> Act | None:
        return acts[number // 3 % 4] if number % 3 == 0 else None

    with teach(unruly) as server:
        synthesize(graph, config(server, retries=12), tmp_path)
    assert contents(tmp_path) == contents(undisturbed)
    assert usage(tmp_path)["lost"] > 0  # cut-off answers may have been billed


def test_drops_are_counted_by_reason(graph, tmp_path):
    def picky(number: int, prompt: str) -> Act | None:
        kind = sum(prompt.encode()) % 4
        if "<question>" in prompt and kind == 0:
            return Act("I would rather not.")
        if "<question>" in prompt and kind == 1:
            return Act(status=400, body={"error": {"message": "filtered"}})
        if "<coherence>" in prompt and kind == 2:
            return Act("<path>9</path><relevance>9</relevance><coherence>5</coherence>")
        return None

    with teach(picky) as server:
        card = synthesize(graph, config(server, count=12), tmp_path)
    counted = card["dropped"]
    assert counted["question: unreadable_answer"] and counted["question: declined_prompt"]
    assert counted["filter: quality"]
    dropped = read_jsonl(tmp_path / "dropped.jsonl")
    (why, *_) = [r["detail"] for r in dropped if r["stage"] == "filter"]
    assert why == "scores below 9 in the mean: path 9, relevance 9, coherence 5"
    assert card["count"] == 12


KILLED = """
import sys
from pathlib import Path
from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import synthesize
from graphwalker.config import parse_config
import json
config = parse_config(SynthConfig, json.loads(sys.argv[3]), "test")
synthesize(Path(sys.argv[1]), config, Path(sys.argv[2]))
"""


def test_what_was_answered_before_a_kill_is_never_paid_for_again(graph, undisturbed, tmp_path):
    out = tmp_path / "out"
    with teach(lambda number, prompt: Act(well(prompt), delay_s=0.01)) as server:
        chosen = config(server)
        settings = json.dumps(chosen.model_dump(mode="json"))
        for goal in (4, 9):
            script = [sys.executable, "-c", KILLED, str(graph), str(out), settings]
            process = subprocess.Popen(script)
            deadline = time.monotonic() + 120
            while server.answered.total() < goal:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.002)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        kept = answers(out)
        assert kept
        synthesize(graph, chosen, out)
        asked_twice = server.asked.total() - len(server.asked)
    lost = usage(out)["lost"]
    assert kept <= answers(out)
    assert asked_twice <= lost <= 2 * 4  # only what was under way when the kills came
    assert contents(out) == contents(undisturbed)


def test_a_run_at_its_cap_resumes_when_the_cap_is_raised(graph, undisturbed, tmp_path):
    with teach() as server:
        with pytest.raises(UserError, match="the same command resumes"):
            synthesize(graph, config(server, prices={"max_total_tokens": 4000}), tmp_path)
        spent = usage(tmp_path)
        assert 0 < spent["prompt_tokens"] + spent["completion_tokens"] <= 4000
        synthesize(graph, config(server, prices={"max_total_tokens": 60_000}), tmp_path)
        assert max(server.asked.values()) == 1
    assert contents(tmp_path) == contents(undisturbed)


def command(graph: Path, out: Path, *more: str) -> int:
    arguments = ["synth", "--graph", str(graph), "--count", "3", "--out", str(out)]
    settings = ["teacher.model=tiny", "teacher.api_key_env=", "teacher.backoff_s=0.01", *more]
    return run(lambda: app([*arguments, *settings], standalone_mode=False))


def test_the_stages_one_by_one_ask_the_teacher_for_their_part(graph, tmp_path):
    with teach() as server:
        chosen = config(server, count=4)
        make_walks(graph, SynthConfig(count=4), tmp_path / "w")
        word_questions(graph, chosen, tmp_path / "w/walks.jsonl", tmp_path / "q")
        filter_questions(graph, chosen, tmp_path / "q/questions.jsonl", tmp_path / "f")
    assert set(usage(tmp_path / "q")["answers"]) == {"question"}
    assert set(usage(tmp_path / "f")["answers"]) == {"score"}
    scored = [r["query"]["scores"]["path"] for r in read_jsonl(tmp_path / "f/filtered.jsonl")]
    assert scored and set(scored) == {9.0}


def test_a_prompt_of_ones_own_must_have_our_slots(tmp_path):
    (tmp_path / "judge.txt").write_text("{{question}} {{nonsense}}")
    settings = TeacherConfig(
        base_url="http://127.0.0.1:9/v1", model="tiny", prompts_dir=str(tmp_path)
    )
    with pytest.raises(UserError, match=r"judge\.txt: a prompt of this name has exactly the slots"):
        TeacherClient(settings, tmp_path / "teacher")
    (tmp_path / "judge.txt").rename(tmp_path / "thought_composition.txt")
    with pytest.raises(UserError, match=r"thought_composition\.txt: no prompt has that name"):
        TeacherClient(settings, tmp_path / "teacher")
