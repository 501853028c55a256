"""Exports: our records in the forms that LLaMA-Factory, TRL and verl train on and Inspect shows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphwalker.agents.base import Log
from graphwalker.agents.environment import Environment
from graphwalker.errors import UserError
from graphwalker.files import dumps, read_json, read_jsonl, read_records, write_json, write_jsonl
from graphwalker.question import Question
from graphwalker.runs import one_writer, refuse_own_input
from graphwalker.scoring import score
from graphwalker.trajectory import Message, Trajectory

ExportRow = dict[str, Any]

MESSAGES = "STRUCT(role VARCHAR, content VARCHAR)[]"
SFT_COLUMNS = {
    "messages": MESSAGES,
    "id": "VARCHAR",
    "structure": "VARCHAR",
    "injected_errors": "BIGINT[]",
}
RL_COLUMNS = {
    "data_source": "VARCHAR",
    "prompt": MESSAGES,
    "ability": "VARCHAR",
    "reward_model": "STRUCT(style VARCHAR, ground_truth VARCHAR[])",
    "extra_info": "STRUCT(id VARCHAR, index BIGINT, split VARCHAR, structure VARCHAR, "
    "question VARCHAR, topic_ids VARCHAR[], answer_ids VARCHAR[], record VARCHAR)",
}
"""The columns of verl's RL data; extra_info has what its reward function needs, and the
question's `record` for our agent loop (`graphwalker.integrations.verl_loop`)."""


@dataclass(frozen=True, slots=True)
class Export:
    """What came of an export. `set_aside` counts infrastructure failures."""

    file: Path
    rows: int
    set_aside: int
    wrong: int = 0
    """Trajectories among the rows that end with a wrong answer, as those of an evaluation may."""


@one_writer("out")
def export(source: Path, to: str, out: Path, environment: Environment | None = None) -> Export:
    """Write the trajectories or questions of `source` into `out` for `to`: sharegpt, trl, verl or
    inspect (a log of Inspect AI).

    Trajectories become supervised rows, one for each unbroken context, word for word what a policy
    reads and writes. Questions become prompts of RL (trl, verl): the first messages that
    `environment` would show, and the answers.

    Raises `UserError` for a form that does not exist, for questions without an environment, and for
    an empty file.
    """
    if to not in FORMS:
        raise UserError(f"--to {to}: unknown form; known: {', '.join(FORMS)}")
    form = FORMS[to]
    first = next(read_jsonl(source), None)
    if first is None:
        raise UserError(f"{source}: no records to export")
    out.mkdir(parents=True, exist_ok=True)
    stem = source.name.removesuffix(".gz").removesuffix(".jsonl")
    set_aside: list[str] = []
    wrong: list[str] = []
    if "turns" in first:
        if form.row is None:
            refuse_own_input(out / f"{stem}.json", source)
            return _inspect_log(source, out / f"{stem}.json")
        rows, columns = map(form.row, conversations(source, set_aside, wrong)), form.columns
    elif form.prompt is None:
        raise UserError(f"{source} holds questions; --to {to} takes trajectories")
    elif environment is None:
        raise UserError(f"{source} holds questions: their prompts need the graph (--graph)")
    else:
        rows, columns = _prompts(source, form.prompt, environment), form.prompt_columns
    file = out / f"{stem}.{'parquet' if columns else 'jsonl'}"
    refuse_own_input(file, source)
    count = _write_parquet(rows, file, columns) if columns else write_jsonl(file, rows)
    if to == "sharegpt":
        _register(file, stem)
    return Export(file, count, len(set_aside), len(wrong))


@dataclass(frozen=True, slots=True)
class Conversation:
    """An unbroken context of a trajectory: what is one row of SFT."""

    trajectory: Trajectory
    messages: list[Message]
    injected: list[int]
    """Places among `messages` of what an expert was made to get wrong: for a loss mask."""


def conversations(source: Path, set_aside: list[str], wrong: list[str]) -> Iterator[Conversation]:
    """Yield every unbroken context of every trajectory; ids of infrastructure failures go to
    `set_aside`, those of wrong answers to `wrong`."""
    for trajectory in read_records(source, Trajectory.from_json):
        if trajectory.stop.infrastructure_failure:
            set_aside.append(trajectory.id)
            continue
        if score(trajectory)["em"] != 1:
            wrong.append(trajectory.id)
        errors = trajectory.provenance.get("errors", ())
        injected = {error["turn"] for error in errors if error.get("slip")}
        row = Conversation(trajectory, [], [])
        for number, turn in enumerate(trajectory.turns):
            if turn.restart and row.messages:
                yield row
                row = Conversation(trajectory, [], [])
            row.messages.extend((*turn.context, Message("assistant", turn.completion)))
            if number in injected:
                row.injected.append(len(row.messages) - 1)
        if row.messages:
            yield row


def _register(file: Path, stem: str) -> None:
    """Add a file of ShareGPT rows to the dataset_info.json beside it, as LLaMA-Factory reads it."""
    info = file.with_name("dataset_info.json")
    known = read_json(info) if info.is_file() else {}
    columns = {"messages": "conversations", "system": "system"}
    about = {"file_name": file.name, "formatting": "sharegpt", "columns": columns}
    write_json(info, {**known, f"graphwalker_{stem}": about}, 2)


def _inspect_log(source: Path, file: Path) -> Export:
    """Return a log of Inspect AI, one sample for each trajectory."""
    from data_pipeline.inspect_log import write_inspect_log

    records = read_records(source, Trajectory.from_json)
    rows, failures = write_inspect_log(records, file, source.parent.name)
    return Export(file, rows, failures)


def _prompts(source: Path, prompt: "WritePrompt", environment: Environment) -> Iterator[ExportRow]:
    for index, question in enumerate(read_records(source, Question.from_json)):
        yield prompt(index, question, _plain(opening(question, environment)))


def opening(question: Question, environment: Environment) -> list[Message]:
    """Return the messages that the environment shows first."""
    episode = environment.agent(question, environment.toolbox(question), Log())
    messages = list(next(episode).messages)
    episode.close()
    return messages


_SPEAKERS = {"user": "human", "assistant": "gpt"}


def _sharegpt(row: Conversation) -> ExportRow:
    """Lay out a conversation: the system message in its own column, observations as human turns."""
    system = "\n".join(m.content for m in row.messages if m.role == "system")
    spoken = [(place, m) for place, m in enumerate(row.messages) if m.role != "system"]
    if [m.role for _, m in spoken] != ["user", "assistant"] * (len(spoken) // 2):
        raise UserError(
            f"{row.trajectory.id}: ShareGPT wants user and assistant to take turns, and here they "
            "do not; export to trl or verl"
        )
    return {
        "id": row.trajectory.id,
        "system": system,
        "conversations": [{"from": _SPEAKERS[m.role], "value": m.content} for _, m in spoken],
        "injected_errors": [n for n, (place, _) in enumerate(spoken) if place in row.injected],
    }


def _messages(row: Conversation) -> ExportRow:
    return {
        "id": row.trajectory.id,
        "structure": row.trajectory.question.structure,
        "messages": _plain(row.messages),
        "injected_errors": row.injected,
    }


def _trl_prompt(_: int, question: Question, prompt: "PlainMessages") -> ExportRow:
    """Return the conversational form of TRL's GRPOTrainer, and the gold answers."""
    return {
        "id": question.id,
        "prompt": prompt,
        "answers": [answer.name for answer in question.answers],
        "answer_ids": [answer.id for answer in question.answers],
    }


def _verl_prompt(index: int, question: Question, prompt: "PlainMessages") -> ExportRow:
    """verl's RL columns; the ground truth is the list of answer names."""
    names = [answer.name for answer in question.answers]
    return {
        "data_source": question.dataset or "graphwalker",
        "prompt": prompt,
        "ability": "kgqa",
        "reward_model": {"style": "rule", "ground_truth": names},
        "extra_info": {
            "id": question.id,
            "index": index,
            "split": question.split,
            "structure": question.structure,
            "question": question.text,
            "topic_ids": [entity.id for entity in question.topic_entities],
            "answer_ids": [answer.id for answer in question.answers],
            "record": dumps(question.to_json()),
        },
    }


PlainMessages = list[dict[str, str]]
WritePrompt = Callable[[int, Question, PlainMessages], ExportRow]


@dataclass(frozen=True, slots=True)
class ExportForm:
    """How one training library wants its data: JSONL, or Parquet where it names columns."""

    row: Callable[[Conversation], ExportRow] | None
    """Of trajectories; `None`: a log of Inspect AI."""
    prompt: WritePrompt | None = None
    columns: Mapping[str, str] | None = None
    prompt_columns: Mapping[str, str] | None = None


FORMS = {
    "sharegpt": ExportForm(_sharegpt),
    "trl": ExportForm(_messages, _trl_prompt),
    "verl": ExportForm(_messages, _verl_prompt, SFT_COLUMNS, RL_COLUMNS),
    "inspect": ExportForm(None),
}


def _plain(messages: Sequence[Message]) -> PlainMessages:
    return [{"role": m.role, "content": m.content} for m in messages]


def _write_parquet(rows: Iterator[ExportRow], path: Path, columns: Mapping[str, str]) -> int:
    """Return the rows as Parquet with exactly these columns, in order; one step, by a rename."""
    import duckdb

    lines, partial = path.with_suffix(".rows.jsonl"), path.with_suffix(".partial")
    count = write_jsonl(lines, rows)
    try:
        with duckdb.connect() as db:
            table = db.read_json(
                str(lines),
                columns=dict(columns),
                format="newline_delimited",
                maximum_object_size=1 << 28,
            )
            table.write_parquet(str(partial), compression="zstd")
    finally:
        lines.unlink()
    partial.replace(path)
    return count
