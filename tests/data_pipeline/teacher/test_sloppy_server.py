"""Answers as real models write them, over real HTTP: read, or counted by what was wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_pipeline.teacher.client import TeacherClient, Unusable
from data_pipeline.teacher.config import TeacherConfig
from data_pipeline.teacher.parse import read_question, read_scores, read_thoughts
from support.chat_server import Act
from support.teacher_server import TeacherServer, teach

ASKED = "Who wrote it?"
REASONED = {"message": {"role": "assistant", "content": None, "reasoning_content": "Hm. Who?"}}
PARTS = {"message": {"content": [{"type": "thinking"}, {"type": "text", "text": ASKED}]}}

READ = {
    "in its tag": Act(f"<question>{ASKED}</question>"),
    "bare": Act(ASKED),
    "quoted": Act(f'"{ASKED}"'),
    "labelled": Act(f"Question: {ASKED}"),
    "labelled in bold": Act(f"**Question:** {ASKED}"),
    "fenced": Act(f"```\n{ASKED}\n```"),
    "in fenced JSON": Act(f'```json\n{{"question": "{ASKED}",}}\n```'),
    "behind a preface": Act(f"Sure! Here is a question in that style:\n\n{ASKED}"),
    "before an explanation": Act(f"{ASKED}\n\nThis asks for the writer of the film."),
    "behind its reasoning": Act(f"<think>Who wrote it? Or sang it?</think>\n{ASKED}"),
    "with another closing tag": Act(f"<question>{ASKED}</answer>"),
    "without a closing tag": Act(f"<question>{ASKED}"),
    "in parts": Act(extra=PARTS),
}
UNREAD = {
    "it was empty": Act(""),
    "it held no <question>": Act("I am sorry, but I cannot help with that."),
    "it held no <question>...</question> (cut off at 64": Act("<question>Who wr", finish="length"),
    "has not one question mark": Act("<question>Who wrote it? Who sang it?</question>"),
    "question mark, at its end": Act("<question>your question</question>"),
    "its <question> was empty": Act("<question></question>"),
    "its <question> was nested": Act("<question>The <question> of it?</question>"),
}


def client_of(server: TeacherServer, folder: Path, **settings: Any) -> TeacherClient:
    about = {"base_url": server.url, "model": "m", "api_key_env": "", "max_tokens": 64}
    return TeacherClient(TeacherConfig.model_validate({**about, **settings}), folder)


def ask(client: TeacherClient, kind: str) -> str:
    return client.request("question", kind, read_question, fields=("question",))


def test_twenty_kinds_of_real_answers_are_read_or_counted_by_kind(tmp_path):
    acts = {**READ, **UNREAD, "only reasoning": Act(extra=REASONED, finish="length")}
    with teach(lambda number, prompt: acts[prompt]) as server:
        client = client_of(server, tmp_path, format_retries=0)
        for kind in READ:
            assert ask(client, kind) == ASKED, kind
        faults = {kind: kind for kind in UNREAD} | {"only reasoning": "it was empty"}
        for kind, fault in faults.items():
            with pytest.raises(Unusable) as unusable:
                ask(client, kind)
            assert str(unusable.value) == "unreadable_answer" and fault in unusable.value.detail
        client.close()


def structured(answer: Callable[[dict[str, Any]], Act]) -> type[TeacherServer]:
    """A server that says nothing of use, but to a request with `response_format`."""

    class Structured(TeacherServer):
        def reply(self, number: int, body: dict[str, Any]) -> Act:
            return answer(body) if "response_format" in body else Act("I would rather talk.")

    return Structured


def test_a_server_without_schemas_is_asked_again_in_words(tmp_path):
    refused = Act(status=400, body={"error": {"message": "response_format is not supported"}})
    with teach(kind=structured(lambda body: refused)) as server:
        client = client_of(server, tmp_path)
        for prompt in ("one", "two"):
            with pytest.raises(Unusable, match="unreadable_answer"):
                ask(client, prompt)
        assert server.asked.total() == 5  # two each, and one request that was refused
        client.close()


def test_thoughts_are_read_under_any_numbering():
    for answer in (
        "<thought1>I begin.</thought1>\n<thought3>So.</thought3>",
        "<thought 1>I begin.</thought>\n<thought 2>So.</thought>",
        "<thought>I begin.</thought><thought>So.</thought>",
        "<thought1>I begin.</thought2>\n<thought2>So.",
        "Thought 1: I begin.\nThought 2: So.",
        "**Step 0:** I begin.\n\n**Step 1:** So.",
        "1. I begin.\n2. So.",
        '{"thought1": "I begin.", "thought2": "So."}',
        '{"thoughts": ["I begin.", "So."]}',
        '[{"step": 1, "thought": "I begin."}, {"step": 2, "thought": "So."}]',
        "<think>1. No.</think>1) I begin.\n2) So.",
    ):
        assert read_thoughts(answer, [1, 2]) == {1: "I begin.", 2: "So."}, answer


NAMES = ("path", "relevance", "coherence")


def test_scores_are_found_in_whatever_form():
    for text in (
        "<path>9</path><relevance>8</relevance><coherence>7</coherence>",
        "<path>9</path>\n<relevance>8/10</path>\n<coherence>7</score>",
        "<path>9 <relevance>8 <coherence>7",
        '```json\n{"path": 9, "relevance": "8/10", "coherence": 7.0}\n```',
        "**Path**: 9/10\n**Relevance**: 8/10\n**Coherence**: 7/10",
        "path: 9, relevance: 8, coherence: 7",
        "9, 8, 7",
        "9/10 8/10 7/10",
        "<think>path: 1?</think> path=9 relevance=8 coherence=7.",
    ):
        assert read_scores(text, NAMES) == {"path": 9.0, "relevance": 8.0, "coherence": 7.0}, text


def test_a_score_that_may_mean_two_things_is_none():
    for text in (
        "<path>11</path>",
        "path: 9 or path: 7",
        "<path>9</path> <path>3</path>",
        "path: 9/100",
        "path: -1",
        "path: nine",
        '{"path": true}',
        "9 8",
        "9/8/7",
        "I give it a 9.",
        "",
    ):
        assert read_scores(text, NAMES) == {}, text
