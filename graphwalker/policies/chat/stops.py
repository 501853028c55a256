"""Stop strings of a chat server: whether they are sent, and where a reply is cut.

A server knows nothing of thoughts: it would cut a reply at the first stop string, also where the
model only considers an action. So none are sent to a model that reasons in its replies.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Literal

from graphwalker.policies.chat.store import Store, StoredAnswer, Usage
from graphwalker.tokens.reasoning import action_end, read_reasoning

SendStop = Literal["auto"] | bool
AskServer = Callable[[bool], StoredAnswer]
"""Asks the server, with the stop strings or without them. Raises `PolicyError`."""
_NOTE = "send_stop"


class StopChoice:
    """Learns from the first reply of a run, which is asked for without stop strings, whether the
    model reasons; a store keeps what was learned for a run that resumes. Thread-safe."""

    def __init__(self, setting: SendStop, store: Store) -> None:
        self._setting, self._store = setting, store
        noted = store.note(_NOTE) if setting == "auto" else ""
        self._sends: bool | None = noted == "true" if noted else None
        if setting != "auto":
            self._sends = setting
        self._first = threading.Lock()
        self._ready = threading.Event()

    def ask(self, ask: AskServer, stops: Sequence[str]) -> tuple[StoredAnswer, Usage]:
        """Return the reply, and what a reply before it cost that was cut within a thought."""
        if self._sends is None:
            return self._ask_first(ask), Usage()
        answer = ask(self._sends)
        if not self._sends or not is_cut_in_thought(answer, stops):
            return answer, Usage()
        again = ask(False)
        self._learn(sends=False)
        return again, answer.spent

    def _ask_first(self, ask: AskServer) -> StoredAnswer:
        # The others wait for one reply, so that runs of any concurrency send the same requests;
        # where that one fails they wait no longer.
        if not self._first.acquire(blocking=False):
            self._ready.wait()
        try:
            answer = ask(bool(self._sends))
        finally:
            self._ready.set()
        if self._sends is None:
            self._learn(sends=not answer.reasoned)
        return answer

    def _learn(self, sends: bool) -> None:
        if self._setting == "auto":
            self._sends = sends
            self._store.set_note(_NOTE, str(sends).lower())


def is_cut_in_thought(answer: StoredAnswer, stops: Sequence[str]) -> bool:
    """Return whether a reply ended within a thought, as a stop string there makes it end."""
    if answer.finish == "length":
        return False
    if not answer.text.strip():
        return answer.reasoned
    is_open = read_reasoning(answer.text, stops).open is not None
    return is_open and action_end(answer.text, stops) is None


def finish_text(text: str, stops: Sequence[str], finish: str, stop_reason: str = "") -> str:
    """Return the text up to and with its first stop string outside of all thoughts, which most
    servers cut away.

    vLLM names the string in `stop_reason`. Where none is named, a closing tag is put back when its
    opening one is the last that stands open; a text that ends otherwise is left as it is.

    >>> finish_text("<answer> [] </answer> more", ["</answer>"], "stop")
    '<answer> [] </answer>'
    >>> finish_text("so: <answer> []", ["</kg-query>", "</answer>"], "stop")
    'so: <answer> []</answer>'
    """
    whole = text if finish == "length" else text + _cut_away(text, stops, stop_reason)
    end = action_end(whole, stops)
    return text if end is None else whole[:end]


def _cut_away(text: str, stops: Sequence[str], stop_reason: str) -> str:
    if stop_reason in stops:
        return stop_reason
    opened = {stop: text.rfind(stop.replace("</", "<", 1)) for stop in stops if stop[:2] == "</"}
    last = max(opened, key=opened.__getitem__, default="")
    is_open = last and opened[last] > max(map(text.rfind, stops))
    return last if is_open else ""
