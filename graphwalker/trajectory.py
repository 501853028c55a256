"""The one record of the whole pipeline: what an agent saw, thought, did and answered."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.query.query import Hop, parse_hop
from graphwalker.question import Question

FORMAT_VERSION = 2

_HTML = """\
<div class="graphwalker-trajectory">
<p><b>{{ trajectory.question.text }}</b></p>
<ol>
{%- for turn in trajectory.turns %}
<li>{% if turn.thought %}<i>{{ turn.thought }}</i><br>{% endif %}<code>{{ turn.in_words() }}</code>
{%- if turn.observation %}
<pre style="white-space:pre-wrap;max-height:12em;overflow:auto\
{{ ';color:#b00020' if turn.error }}">{{ turn.observation }}</pre>
{%- endif %}</li>
{%- endfor %}
</ol>
<p><b>{{ trajectory.ending() }}</b>{% if gold %} <span>Gold: {{ gold }}.</span>{% endif %}</p>
</div>"""


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `role` is `system`, `user` (prompt or observation) or `assistant`."""

    role: str
    content: str


class StopReason(StrEnum):
    """Why an episode ended. The last two are infrastructure failures: they say nothing about the
    agent, so they are never scored and never trained on."""

    ANSWERED = "answered"
    FORCED = "forced"
    MAX_TURNS = "max_turns"
    LENGTH = "length"
    MALFORMED = "malformed"
    GRAPH_ERROR = "graph_error"
    POLICY_ERROR = "policy_error"

    @property
    def infrastructure_failure(self) -> bool:
        """True where the graph or the policy failed, not the agent."""
        return self in (StopReason.GRAPH_ERROR, StopReason.POLICY_ERROR)


class ShownTriple(NamedTuple):
    """A triple as it was shown: its entities under the names shown."""

    head: Entity
    relation: str
    tail: Entity


class Listed(NamedTuple):
    """The relations that were shown of one entity; one that it has both ways is two hops."""

    entity_id: str
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One completion and what the environment made of it.

    `context` holds the messages that are new since the previous completion (the whole prompt on
    the first turn): contexts and completions in order are the exact conversation, so SFT rows and
    rollouts tokenise the same segments. `restart` marks a context that does not extend the
    previous one. `observation` is the tool's text alone; `shown` the entities that it displayed,
    under the names it displayed (grounding and retrieval rates read these, not the text), `listed`
    and `triples` what else it said (oracles, the viewer and error analysis read these).
    """

    context: tuple[Message, ...]
    completion: str
    thought: str = ""
    action: dict[str, Any] = field(default_factory=dict[str, Any])
    """`{"tool": ..., "arguments": {...}}`, `{"answer": [...]}` or `{"malformed": reason}`; the
    second and later ones of several calls stand in `further`, in the form of the first."""
    observation: str = ""
    shown: tuple[Entity, ...] = ()
    error: str = ""
    """Kind of mistake that the observation reports (`unknown_relation`, ...), or `""`."""
    restart: bool = False
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[float, ...] | None = None
    graph_calls: int = 0
    milliseconds: float = 0.0
    listed: tuple[Listed, ...] = ()
    """Relations listed, by entity."""
    triples: tuple[ShownTriple, ...] = ()
    """Triples shown, in order."""
    hidden: int = 0
    """Entries that a limit cut."""
    tokens: int = 0
    """Tokens of the completion, as its server counted them, where there are no ids to count."""
    cost: float = 0.0
    """Money that the completion cost, in the currency of the prices."""

    def in_words(self) -> str:
        """Return what the turn did, in one line."""
        if "answer" in self.action:
            return "answers " + (", ".join(self.action["answer"]) or "nothing")
        if "malformed" in self.action:
            return f"writes no valid action: {self.completion[:200]!r}"
        calls = [self.action, *self.action.get("further", ())]
        given = (", ".join(map(str, call.get("arguments", {}).values())) for call in calls)
        return "; ".join(f"{c.get('tool', '?')}({g})" for c, g in zip(calls, given, strict=True))

    def lines(self, number: int) -> Iterator[tuple[str, str]]:
        """Yield the turn for people: its thought, its action and what came back, each with rich's
        style for it."""
        yield f"Turn {number}", "bold"
        if self.thought:
            yield f"  thinks    {self.thought}", "italic"
        yield f"  does      {self.in_words()}", "cyan"
        if self.observation:
            yield f"  observes  {self.observation}", "red" if self.error else ""

    def without_time(self) -> "Turn":
        """Return the turn without its clock reading. By place: `replace` looks every field up."""
        return Turn(
            *(self.context, self.completion, self.thought, self.action, self.observation),
            *(self.shown, self.error, self.restart, self.token_ids, self.logprobs),
            *(self.graph_calls, 0.0, self.listed, self.triples, self.hidden, self.tokens),
            self.cost,
        )


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An episode, finished. `answer` is `None` when the agent gave none."""

    question: Question
    agent: str
    policy: str
    turns: tuple[Turn, ...]
    answer: tuple[str, ...] | None
    stop: StopReason
    answer_ids: tuple[str, ...] = ()
    """Ids behind the answered names, from the episode's name book; `""` where a name is unknown."""
    sample: int = 0
    scores: dict[str, float] = field(default_factory=dict[str, float])
    usage: dict[str, float] = field(default_factory=dict[str, float])
    provenance: dict[str, Any] = field(default_factory=dict[str, Any])
    answer_kind: str = "names"
    """What `answer` holds: `names`, `rows` (JSON objects), a `path` (nodes in order), a `text`."""

    @property
    def id(self) -> str:
        return f"{self.question.id}#{self.sample}"

    def __bool__(self) -> bool:
        return True  # an episode without turns is one all the same

    def __len__(self) -> int:
        """Return the number of turns."""
        return len(self.turns)

    def __getitem__(self, turn: int) -> Turn:
        return self.turns[turn]

    def __repr__(self) -> str:
        answer = "no answer" if self.answer is None else f"answer={list(self.answer)}"
        scored = f", em={self.scores['em']:g}" if "em" in self.scores else ""
        text = f"{self.question.text!r}, turns={len(self)}, {answer}, stop={self.stop.value!r}"
        return f"Trajectory({text}{scored})"

    @property
    def steps(self) -> tuple[Turn, ...]:
        """The turns."""
        return self.turns

    @property
    def answers(self) -> list[str]:
        """What was answered; empty where there is no answer."""
        return list(self.answer or ())

    @property
    def messages(self) -> list[Message]:
        """Every message in order, as `conversation` gives them."""
        return self.conversation()

    def conversation(self) -> list[Message]:
        """Return every message in order, the completions as assistant messages."""
        messages: list[Message] = []
        for turn in self.turns:
            messages = list(turn.context) if turn.restart else messages + list(turn.context)
            messages.append(Message("assistant", turn.completion))
        return messages

    def ending(self) -> str:
        """Return the answer with the ids behind its names, or why there is none."""
        if self.answer is None:
            return f"No answer ({self.stop.value})."
        names = zip(self.answer, self.answer_ids, strict=False)
        shown = (f"{name} ({id_})" if id_ else f"{name} (never seen)" for name, id_ in names)
        return f"Answer: {', '.join(shown) or 'nothing'}"

    def show(self) -> None:
        """Print the episode turn by turn: rich text in a terminal, HTML in a notebook."""
        shell = sys.modules.get("IPython")  # a Jupyter kernel alone has a shell of that name
        if shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell":
            from IPython.display import HTML, display  # pyright: ignore

            display(HTML(self._repr_html_()))
            return
        from rich.text import Text

        from graphwalker.console.terminal import PrintableConsole

        console = PrintableConsole()
        console.print(Text(self.question.text, style="bold"))
        for number, turn in enumerate(self.turns, start=1):
            for text, style in turn.lines(number):
                console.print(Text(text, style=style))
        console.print(Text(self.ending(), style="bold"))

    def _repr_html_(self) -> str:
        """Return the episode as an HTML fragment; every text in it is escaped."""
        from jinja2 import Environment

        gold = ", ".join(answer.name for answer in self.question.answers)
        page = Environment(autoescape=True).from_string(_HTML)
        return page.render(trajectory=self, gold=gold)

    def with_scores(self, **scores: float) -> "Trajectory":
        return replace(self, scores={**self.scores, **scores})

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "version": FORMAT_VERSION,
            "id": self.id,
            "question": self.question.to_json(),
            "agent": self.agent,
            "policy": self.policy,
            "turns": [_turn_to_json(turn) for turn in self.turns],
            "answer": None if self.answer is None else list(self.answer),
            "answer_ids": list(self.answer_ids),
            "stop": self.stop.value,
            "sample": self.sample,
            "scores": self.scores,
            "usage": self.usage,
            "provenance": _provenance_to_json(self.provenance),
        }
        named = self.answer_kind == "names"
        return record if named else {**record, "answer_kind": self.answer_kind}

    def to_dict(self) -> dict[str, Any]:
        """Return the record of a file, as `to_json` gives it."""
        return self.to_json()

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Trajectory":
        """Read the JSON form. Raises `UserError` for another version or a missing field."""
        check_version(record)
        try:
            return cls(
                question=Question.from_json(record["question"]),
                agent=record["agent"],
                policy=record["policy"],
                turns=tuple(_turn_from_json(turn) for turn in record["turns"]),
                answer=None if record["answer"] is None else tuple(record["answer"]),
                answer_ids=tuple(record.get("answer_ids", ())),
                stop=StopReason(record["stop"]),
                sample=int(record.get("sample", 0)),
                scores=dict(record.get("scores", {})),
                usage=dict(record.get("usage", {})),
                provenance=_provenance_from_json(record.get("provenance", {})),
                answer_kind=str(record.get("answer_kind", "names")),
            )
        except KeyError as error:
            raise UserError(f"trajectory record has no field {error.args[0]!r}") from None
        except (TypeError, AttributeError, ValueError, IndexError) as error:
            if isinstance(error, UserError):
                raise
            raise UserError(f"trajectory {record.get('id', '?')!r} is malformed: {error}") from None


CHATS = ("messages", "conversations", "conversation", "prompt", "instruction")
"""Keys of the records that other trainers take."""


def check_version(record: dict[str, Any]) -> None:
    """Raise `UserError` for a trajectory of another format, and for what is no trajectory."""
    if "version" not in record and "turns" not in record:
        form = next((f"as in chats ({key})" for key in CHATS if key in record), "of another kind")
        what = "a question" if "question" in record and form == "of another kind" else ""
        raise UserError(
            f"{what or f'a record {form}'}, where a trajectory is wanted (question, turns, answer, "
            "stop): `graphwalker synth` makes them of a graph, `graphwalker experts --questions` "
            "of questions of your own"
        )
    if (version := record.get("version")) != FORMAT_VERSION:
        raise UserError(
            f"a trajectory of format version {version!r}, where this graphwalker reads version "
            f"{FORMAT_VERSION}: make the file again with the command that wrote it"
        )


def _provenance_to_json(provenance: dict[str, Any]) -> dict[str, Any]:
    """Write `errors` as a JSON text: a list that is empty in one file and not in another has no
    type that libraries such as `datasets` read both with."""
    if "errors" not in provenance:
        return provenance
    return {**provenance, "errors": json.dumps(provenance["errors"], ensure_ascii=False)}


def _provenance_from_json(record: dict[str, Any]) -> dict[str, Any]:
    errors = record.get("errors")
    return {**record, "errors": json.loads(errors)} if isinstance(errors, str) else dict(record)


def _turn_to_json(turn: Turn) -> dict[str, Any]:
    record: dict[str, Any] = {
        "context": [{"role": m.role, "content": m.content} for m in turn.context],
        "completion": turn.completion,
        "thought": turn.thought,
        "action": turn.action,
        "observation": turn.observation,
        "shown": [{"id": e.id, "name": e.name} for e in turn.shown],
        "error": turn.error,
        "graph_calls": turn.graph_calls,
        "milliseconds": turn.milliseconds,
        "hidden": turn.hidden,
    }
    if turn.restart:
        record["restart"] = True
    if turn.tokens:
        record["tokens"] = turn.tokens
    if turn.cost:
        record["cost"] = turn.cost
    if turn.listed:
        record["listed"] = [[one.entity_id, *map(str, one.hops)] for one in turn.listed]
    if turn.triples:
        record["triples"] = _triples_to_json(turn)
    if turn.token_ids is not None:
        record["token_ids"] = list(turn.token_ids)
    if turn.logprobs is not None:
        record["logprobs"] = list(turn.logprobs)
    return record


def _turn_from_json(record: dict[str, Any]) -> Turn:
    ids, logprobs = record.get("token_ids"), record.get("logprobs")
    shown = tuple(Entity(e["id"], e["name"]) for e in record.get("shown", ()))
    return Turn(
        context=tuple(Message(m["role"], m["content"]) for m in record["context"]),
        completion=record["completion"],
        thought=record.get("thought", ""),
        action=dict(record.get("action", {})),
        observation=record.get("observation", ""),
        shown=shown,
        error=record.get("error", ""),
        restart=bool(record.get("restart", False)),
        token_ids=None if ids is None else tuple(ids),
        logprobs=None if logprobs is None else tuple(logprobs),
        graph_calls=int(record.get("graph_calls", 0)),
        milliseconds=float(record.get("milliseconds", 0.0)),
        listed=tuple(
            Listed(e, tuple(map(parse_hop, hops))) for e, *hops in record.get("listed", ())
        ),
        triples=tuple(_triples_from_json(record.get("triples", ()), shown)),
        hidden=int(record.get("hidden", 0)),
        tokens=int(record.get("tokens", 0)),
        cost=float(record.get("cost", 0.0)),
    )


def _triples_to_json(turn: Turn) -> list[list[str | int]]:
    """Return a row for each run of triples of one relation: `[relation, head, tail, head, tail,
    ...]`, the entities by their place in `shown`."""
    places = {entity: place for place, entity in enumerate(turn.shown)}
    return [
        [relation, *(places[end] for t in run for end in (t.head, t.tail))]
        for relation, run in groupby(turn.triples, attrgetter("relation"))
    ]


def _triples_from_json(rows: Iterable[list[Any]], shown: Sequence[Entity]) -> Iterator[ShownTriple]:
    for relation, *ends in rows:
        for head, tail in zip(ends[::2], ends[1::2], strict=True):
            yield ShownTriple(shown[head], relation, shown[tail])
