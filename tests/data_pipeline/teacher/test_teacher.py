"""A chat model as the teacher, over real HTTP: good, bad, slow, refusing, and killed."""

import json
import os
import re
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
from data_pipeline.synthesize import filter_questions, make_walks, synthesize, word_questions
from data_pipeline.teacher.client import TeacherClient
from data_pipeline.teacher.config import TeacherConfig
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.files import read_jsonl
from support.chat_server import Act
from support.teacher_server import TeacherServer, teach, thought, well

pytestmark = pytest.mark.long

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


def test_what_was_answered_before_a_kill_is_never_paid_for_again(graph, undisturbed, tmp_path):
    out = tmp_path / "out"
    with teach(lambda number, prompt: Act(well(prompt), delay_s=0.01)) as server:
        chosen = config(server)
        made = chosen.teacher.model_dump(exclude_unset=True)
        command = [sys.executable, "-m", "graphwalker", "synth", "--graph", str(graph)]
        command += ["--count", str(COUNT), "--out", str(out)]
        command += [f"teacher.{name}={json.dumps(value)}" for name, value in made.items()]
        for goal in (4, 9):
            process = subprocess.Popen(command)
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


def rows(folder: Path, name: str = "graphsynth.jsonl") -> list[dict[str, Any]]:
    return list(read_jsonl(folder / name))


def wants_thoughts(prompt: str) -> bool:
    return "You write what it thought" in prompt


def test_refused_thoughts_leave_the_record_with_the_programmatic_ones_and_say_so(graph, tmp_path):
    refused: list[str] = []

    def picky(number: int, prompt: str) -> Act | None:
        if wants_thoughts(prompt) and not refused:
            refused.append(prompt)
        return Act(status=403) if refused and prompt == refused[0] else None

    with teach(picky) as server:
        card = synthesize(graph, config(server), tmp_path)
    (own,) = [row for row in rows(tmp_path) if "programmatic_thoughts" in row["provenance"]]
    assert own["provenance"]["programmatic_thoughts"] == list(range(len(own["turns"])))
    assert own["turns"][0]["thought"] and "I look at" not in own["turns"][0]["thought"]
    assert card["count"] == COUNT and card["teacher"]["thoughts"]["records_with_programmatic"] == 1
    assert card["teacher"]["thoughts"]["programmatic"] == len(own["turns"])


def test_a_thought_that_knows_too_much_is_asked_for_again_and_the_others_stand(graph, tmp_path):
    def prophet(number: int, prompt: str) -> Act | None:
        if not wants_thoughts(prompt):
            return None
        (answer,) = [line for line in prompt.splitlines() if "<answer>" in line and "Step" in line]
        name = json.loads(answer.split("<answer>")[1].split("</answer>")[0])[0]
        return Act(
            f"<thought1>It will be {name}. I know.</thought1>{well(prompt)}".replace(thought(1), "")
        )

    with teach(prophet) as server:
        synthesize(graph, config(server), tmp_path)
        talks = [json.loads(talk) for talk in server.asked if wants_thoughts(talk)]
    assert any("thought 1 names what has not been shown yet" in t[-1]["content"] for t in talks)
    for row in rows(tmp_path):
        assert row["provenance"]["programmatic_thoughts"] == [0]
        assert "I know" not in row["turns"][0]["thought"]
        assert row["turns"][1]["thought"].startswith("I look at")


def test_each_thought_is_asked_for_with_the_steps_before_it_alone(graph, tmp_path):
    with teach() as server:
        synthesize(graph, config(server, thoughts="each"), tmp_path)
        talks = [json.loads(talk)[0]["content"] for talk in server.asked]
    prompts = [prompt for prompt in talks if "right before its next step" in prompt]
    turns = [turn for row in rows(tmp_path) for turn in row["turns"]]
    assert len(prompts) == len(turns)
    assert {turn["thought"] for turn in turns} == {
        "I look at what was shown. The next step follows from it."
    }
    for prompt in prompts:
        before, after = prompt.split("The next step, which is settled: ")
        assert before.count("Step ") == before.count("Shown: ")
        assert "(none: nothing has been shown yet)" in before or "Step 1: " in before
        assert "Shown: " not in after


def test_a_question_without_a_score_waits_and_is_scored_later(graph, tmp_path):
    seen: set[str] = set()

    def shy(number: int, prompt: str) -> Act | None:
        if "<path>number</path>" not in prompt and "number</" not in prompt:
            return None
        question = prompt.split("Question: ")[1].splitlines()[0]
        seen.add(question)
        return Act(status=403) if question == min(seen) and len(seen) == 1 else None

    with teach(shy) as server:
        card = synthesize(graph, config(server, concurrency=1), tmp_path / "s")
        (waiting,) = rows(tmp_path / "s", "unscored.jsonl")
        assert card["count"] == COUNT and card["dropped"]["filter: unscored"] == 1
        later = tmp_path / "s/unscored.jsonl"
        filter_questions(graph, config(server), later, tmp_path / "f")
    (scored,) = rows(tmp_path / "f", "filtered.jsonl")
    assert scored["question"] == waiting["question"]
    assert scored["query"]["scores"] == {"path": 9.0, "relevance": 9.0, "coherence": 9.0}


@pytest.mark.parametrize(
    "text, fault",
    [
        ("谁是这部电影的导演?", "it is not in English"),
        ("Who runs that place?", "is not named"),
        ("Who is the head of entity1?", "it shows a placeholder"),
    ],
)
def test_a_teacher_that_is_of_no_use_is_given_up_on_soon(graph, tmp_path, text, fault):
    def useless(number: int, prompt: str) -> Act | None:
        return Act(f"<question>{text}</question>")

    with teach(useless) as server:
        with pytest.raises(UserError, match=r"no usable answer 5 times in a row \(question"):
            synthesize(graph, config(server, count=20, give_up_after=5, concurrency=2), tmp_path)
        assert server.asked.total() <= 5 + 2  # what was under way when it ended
    reasons = [row["detail"] for row in rows(tmp_path, "dropped.jsonl") if "detail" in row]
    assert all(fault in reason for reason in reasons)


def test_prompts_are_the_same_in_every_run_and_hold_no_hidden_name(graph, tmp_path):
    prompts: list[set[str]] = []
    for concurrency in (1, 4):
        with teach() as server:
            out = tmp_path / str(concurrency)
            synthesize(graph, config(server, concurrency=concurrency), out)
            prompts.append(set(server.asked))
    assert prompts[0] == prompts[1]
    questions = [json.loads(talk)[0]["content"] for talk in prompts[0] if "Style of" in talk]
    styles = {line for p in questions for line in p.splitlines() if line.startswith("Style of")}
    assert len(styles) > 1
    for row in rows(out, "questions.jsonl"):
        (prompt,) = [p for p in questions if well(p) == f"<question>{row['question']}</question>"]
        known = prompt.split("What the graph knows")[1].split("Number of answers")[0]
        assert "- answer: " in known
        assert not any(answer["name"] in known for answer in row["answers"])


@pytest.mark.parametrize("right", [True, False])
def test_steps_in_words_of_its_own_are_read_again_by_the_judge(graph, tmp_path, right):
    paths: dict[str, str] = {}
    read: list[str] = []

    def own_words(number: int, prompt: str) -> Act | None:
        if "Style of this question" in prompt:
            (topic,) = re.findall(r"^Path: (.+?) (?:--|<--)", prompt, re.MULTILINE)
            words = f"What hangs together with {topic}, way {len(paths) + 7}?"
            paths[words] = prompt.split("What the steps say")[0]
            return Act(f"<question>{words}</question>")
        if "<reading>" not in prompt:
            return None
        read.append(prompt)
        question = prompt.split("Question: ")[1].splitlines()[0]
        options = re.findall(r"^([A-Z]): (\S+)", prompt, re.MULTILINE)
        (meant,) = [letter for letter, relation in options if f"-{relation}-" in paths[question]]
        return Act(f"{meant}: that one." if right else "<reading>A and B</reading>")

    with teach(own_words) as server:
        settings = config(server, 4, concurrency=1)
        settings = settings.model_copy(update={"mix": {"2-hop": 1.0}})
        card = synthesize(graph, settings, tmp_path)
    assert read and (card["dropped"].get("certificate: misread_step", 0) == 0) is right
    doubts = card["teacher"]["ambiguity"]
    assert doubts["in_words_of_its_own"] == doubts["hops"] == 2 * 4
    assert doubts["own_words_read_again"] == "by the judge"


@pytest.mark.slow
def test_a_server_of_its_own_judges_programmatic_questions(graph, tmp_path):
    def judge(number: int, prompt: str) -> Act | None:
        return Act(well(prompt).replace(">9<", ">2<")) if sum(prompt.encode()) % 2 else None

    with teach(judge) as server:
        about = {"base_url": server.url, "model": "j", "api_key_env": "", "concurrency": 2}
        settings = parse_config(SynthConfig, {"count": 6, "judge": about}, "test")
        card = synthesize(graph, settings, tmp_path)
    assert card["count"] == 6 and card["dropped"].get("filter: quality")
    assert all(row["query"]["scores"]["path"] == 9.0 for row in rows(tmp_path, "questions.jsonl"))
