"""A teacher over real HTTP: it words, judges and thinks well, unless a test wants it otherwise."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from support.chat_server import Act, completion
from support.eval_toy import toy_questions, trained_script
from support.http_server import QuietHandler, listening

Mood = Callable[[int, str], Act | None]
"""From the number of a request and its prompt to what the server does; `None`: it answers well."""


def well(prompt: str) -> str:
    """A usable answer to any of our prompts."""
    if "Reply with this line and nothing else:\n<question>" in prompt:
        topics = re.findall(r"^(?:Path(?: \d+)?: )?(.+?) (?:--|<--)", prompt, re.MULTILINE)
        said = re.search(r"in rough words: (.*)", prompt)
        names = " and ".join(name for name in topics if name != "shared")
        assert said and names, prompt
        places = "|".join([*map(re.escape, topics), r"entity\d+", "shared", "answer"])
        way = re.sub(rf"\b(?:{places})\b", "it", re.sub(r"(^|; )\w+ is ", r"\1", said[1]))
        return f"<question>From {names}, one finds what by way of {way}?</question>"
    if scores := re.findall(r"<(\w+)>number</\1>", prompt):
        return "".join(f"<{name}>9</{name}>" for name in scores)
    if "Reply with this line and nothing else:\n<thought>" in prompt:
        return thought(1)
    if number := re.search(r"Write (\d+) thoughts", prompt):
        return "\n".join(thought(n) for n in range(1, int(number[1]) + 1))
    if "<score>" in prompt:  # a prompt of a test's own
        return "<score>9</score>"
    raise AssertionError(prompt)


def thought(number: int) -> str:
    """A thought that tells nothing, in two sentences."""
    said = "I look at what was shown. The next step follows from it."
    return f"<thought{number}>{said}</thought{number}>"


class TeacherServer:
    """Counts what was asked for, and what was answered in full."""

    def __init__(self, mood: Mood) -> None:
        self.url = ""
        self.asked: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.most_at_once = 0
        self._mood, self._at_once = mood, 0
        self._lock = threading.Lock()

    def act(self, body: dict[str, Any]) -> Act:
        with self._lock:
            number = self.asked.total()
            self.asked[json.dumps(body["messages"])] += 1
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        return self.reply(number, body)

    def reply(self, number: int, body: dict[str, Any]) -> Act:
        prompt = body["messages"][0]["content"]
        return self._mood(number, prompt) or Act(well(prompt))

    def done(self, body: dict[str, Any], act: Act) -> None:
        with self._lock:
            self._at_once -= 1
            if act.status == 200 and act.cut_to is None:
                self.answered[json.dumps(body["messages"])] += 1


class AgentServer(TeacherServer):
    """Plays the script of a toy question. Until it is mended, its mood decides by the turn and the
    question's id whether it does something else."""

    mended = False

    def reply(self, number: int, body: dict[str, Any]) -> Act:
        messages = body["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        prompt = messages[0]["content"] + messages[min(1, len(messages) - 1)]["content"]
        name = next(question.id for question in toy_questions() if question.text in prompt)
        failure = None if self.mended else self._mood(turn, name)
        return failure or Act(str(trained_script()[name][turn]))


@contextmanager
def teach(
    mood: Mood = lambda number, prompt: None, kind: type[TeacherServer] = TeacherServer
) -> Iterator[TeacherServer]:
    """The server on a port of its own, for as long as the block lasts."""
    teacher = kind(mood)

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            act = teacher.act(body)
            time.sleep(act.delay_s)
            sent = json.dumps(act.body or completion(act)).encode()[: act.cut_to]
            self.send_response(act.status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)
            self.wfile.flush()
            teacher.done(body, act)

    with listening(Handler) as address:
        teacher.url = f"{address}/v1"
        yield teacher
