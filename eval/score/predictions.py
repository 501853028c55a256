"""Anyone's predictions: records of a file, each checked, whatever system wrote it.

Our form is one JSON object a line (or a JSON array of them):

    {"id": "q1", "predictions": ["Oslo"], "answers": ["Oslo"], "samples": [["Oslo"], ["Rome"]]}

An answer may be an object with `name`, `id` and `aliases`, a prediction one with `name` and `id`;
both may be numbers.
Optional: `samples` (for Pass@k), `parses` (lists of answers, WebQSP), `rows` and `gold_rows`
(JSON objects, GraphWalk), `judge` (a judge's verdict, true or false).
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from eval.score.forms import part_names
from graphwalker.errors import UserError
from graphwalker.files import DoubledKeyError, json_fault, open_text, parse_lines, refuse_doubled
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer

PredictedEntities = tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """One question's predictions and answers. `predictions` is `None` where there was no answer."""

    id: str
    answers: tuple[Answer, ...] = ()
    predictions: PredictedEntities | None = None
    samples: tuple[PredictedEntities | None, ...] = ()
    parses: tuple[tuple[Answer, ...], ...] = ()
    rows: tuple[Mapping[str, Any], ...] | None = None
    gold_rows: tuple[Mapping[str, Any], ...] = ()
    judge: bool | None = None
    raw: str | None = None
    """The whole answer text, where a published script reads that (ToG, KG-R1)."""
    passed: tuple[bool, ...] = ()
    """Of our own run: which sampled episodes were right, their ids considered."""
    scored: Mapping[str, float] = field(default_factory=dict[str, float])
    """Scores that only an episode has (retrieval, recovery), from our own run."""
    by_kind: Mapping[str, float] = field(default_factory=dict[str, float])
    """Our own metrics where the answer is no set of names, from our own run."""
    failed: bool = False
    """An infrastructure failure: the episode has no score and is set aside."""
    has_predictions: bool = True
    """False for a record with samples or rows only."""
    hint: tuple[str, str] | None = None
    """A key of `eval.score.forms.REMARKS` where how its text was read is to be told; the text."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The predictions as strings (the id of one without a name); none for no answer."""
        return tuple([entity.name or entity.id for entity in self.predictions or ()])

    @property
    def golds(self) -> tuple[str, ...]:
        """The answers as strings, one each: the name, or the id of one without a name."""
        return tuple(answer.name or answer.id for answer in self.answers)


GOLD = ("ground_truth", "answers", "answer")
"""Fields that may hold a record's own gold answers."""
NO_GOLD = (
    "; gold answers stand in 'answers', 'answer' or 'ground_truth', or in the questions that "
    "--questions names"
)
"""What a message adds where a record has no gold answers."""
WANTED_FILE = (
    "predictions are JSON lines (one record a line), one JSON array, a CSV or TSV table, or the "
    "folder of an evaluation"
)
GIVEN = ("prediction", "predictions", "predicted", "pred", "output")
"""Columns of a table that may hold what a system answered."""


class BadField(ValueError):
    """A field that cannot be read; the reader adds file and line."""


Parse = Callable[[dict[str, Any]], Prediction]


def read_file(path: Path, parse: Parse) -> Iterator[Prediction]:
    """Records of a `.jsonl`, `.json` (array) or gzipped file, in order, one at a time.

    A .csv or .tsv file has columns `id` (or `question`) and `prediction`, perhaps `answer`; what
    parts names is told by the cell. Raises `UserError` naming file, line (of an array: record) and
    field.
    """
    if _is_table(path):
        yield from _read_table(path, parse)
    elif holds_lines(path):
        with open_text(path) as lines:
            yield from read_lines(path, lines, parse)
    else:
        yield from _read_array(path, parse)


def read_lines(
    path: Path, lines: Iterable[str], parse: Parse, first: int = 1
) -> Iterator[Prediction]:
    """Records of some lines of a file, the first of them line `first`; errors as in `read_file`."""
    for number, record in parse_lines(lines, path, first, form=WANTED_FILE):
        yield _parse_record(record, parse, f"{path}:{number}")


def holds_lines(path: Path) -> bool:
    """True for a JSON record a line, False for one array or a table. `UserError` for no file."""
    if _is_table(path):
        return False
    with open_text(path) as lines:
        first = next((line.strip() for line in lines if line.strip()), "")
    return not first.startswith("[")


def _is_table(path: Path) -> bool:
    return bool({".csv", ".tsv"} & set(path.suffixes[-2:]))


def _read_table(path: Path, parse: Parse) -> Iterator[Prediction]:
    with open_text(path) as file:
        rows = csv.DictReader(file, delimiter="\t" if ".tsv" in path.suffixes else ",")
        names = [name.strip().casefold() for name in rows.fieldnames or ()]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise UserError(f"{path}:1: two columns are named {twice!r}: keep one of them")
        columns = dict(zip(names, rows.fieldnames or (), strict=True))
        key = columns.get("id") or columns.get("question")
        given = next((columns[name] for name in GIVEN if name in columns), None)
        if key is None or given is None:
            found = f"columns {', '.join(columns)}" if columns else "holds nothing"
            raise UserError(
                f"{path}: {found}: one column named id (or question) and one named prediction are "
                f"needed, with {'tabs' if '.tsv' in path.suffixes else 'commas'} between them"
            )
        for row in rows:
            place = f"{path}:{rows.line_num}"
            if None in row:
                raise UserError(
                    f"{place}: more cells than columns: put a text with commas in double quotes"
                )
            if None in row.values():
                raise UserError(f"{place}: fewer cells than columns: part empty cells, too")
            record: dict[str, Any] = {"id": row[key], "prediction": row[given] or []}
            if gold := next((columns[name] for name in GOLD if name in columns), ""):
                record["answers"] = _gold_names(row[gold] or "", place)
            yield _parse_record(record, parse, place)


def _gold_names(cell: str, place: str) -> list[str]:
    names, remark = part_names(cell)
    if remark == "unclear":
        raise UserError(f"{place}: {cell!r} may be one name or several: part names by bars")
    return list(names)


def _read_array(path: Path, parse: Parse) -> Iterator[Prediction]:
    try:
        with open_text(path) as file:
            records = json.load(file, object_pairs_hook=refuse_doubled)
    except DoubledKeyError as error:
        raise UserError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        at = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UserError(f"{path}{at}: not JSON ({json_fault(error)})") from None
    for number, record in enumerate(records, start=1):
        yield _parse_record(record, parse, f"{path}: record {number}")


def _parse_record(record: Any, parse: Parse, place: str) -> Prediction:
    try:
        if not isinstance(record, dict):
            raise BadField("a record must be a JSON object")
        return parse(cast("dict[str, Any]", record))
    except BadField as error:
        raise UserError(f"{place}: {error}") from None


def parse_ours(record: dict[str, Any], answers: tuple[Answer, ...] | None = None) -> Prediction:
    """Read our own form; `answers` are the gold of a record without any. Raises `BadField`."""
    if "answers" in record:
        answers = read_answers(record, "answers")
    known = ids_of(answers or ())
    has_rows = "rows" in record or "gold_rows" in record
    if answers is None and not has_rows:
        raise BadField(f"field 'answers' is missing{NO_GOLD}")
    if not {"predictions", "samples", "rows"} & record.keys():
        raise BadField("field 'predictions' is missing")
    return Prediction(
        id=read_id(record),
        answers=answers or (),
        predictions=_read_predicted(record.get("predictions"), "predictions", known),
        samples=tuple(
            _read_predicted(sample, f"samples[{i}]", known)
            for i, sample in enumerate(_list(record.get("samples", []), "samples"))
        ),
        parses=tuple(
            read_answers({"parses": parse}, "parses")
            for parse in _list(record.get("parses", []), "parses")
        ),
        rows=_rows(record, "rows") if has_rows else None,
        gold_rows=_rows(record, "gold_rows") if has_rows else (),
        judge=_judge(record),
        has_predictions="predictions" in record,
    )


def read_id(record: dict[str, Any]) -> str:
    """Return the record's id, a string or a whole number. Raises `BadField`."""
    for key in ("id", "uid"):
        if isinstance(record.get(key), str | int) and not isinstance(record[key], bool):
            return str(record[key])
    raise BadField("field 'id' is missing, or neither a string nor a whole number")


def read_answers(record: dict[str, Any], key: str) -> tuple[Answer, ...]:
    """Return the gold answers under `key`. Raises `BadField`."""
    values = _list(record[key], key)
    return tuple(_answer(value, f"{key}[{i}]") for i, value in enumerate(values))


def read_gold(record: dict[str, Any], first: str = "answers") -> tuple[Answer, ...] | None:
    """Return the gold answers that a record carries, under `first` where it is there; `None` for
    none. Raises `BadField`."""
    for name in (first, *GOLD):
        if isinstance(record.get(name), dict):
            return _targets(record[name], name)
        if name in record:
            return read_answers(record, name)
    return None


def _targets(targets: dict[str, Any], key: str) -> tuple[Answer, ...]:
    lists = [targets.get("target_text", []), targets.get("target_kb_id", [])]
    names, ids = ([each] if isinstance(each, str) else each for each in lists)
    if not isinstance(names, list) or not isinstance(ids, list):
        raise BadField(f"field '{key}' needs lists target_text and target_kb_id")
    count = max(len(names), len(ids))
    pairs = zip(*(each + [None] * (count - len(each)) for each in (names, ids)), strict=True)
    return read_answers({key: [{"name": name, "id": id_} for name, id_ in pairs]}, key)


def ids_of(answers: Iterable[Answer]) -> set[str]:
    """Return the ids of gold answers: a prediction that is one of them is taken as an id."""
    return {answer.id for answer in answers if answer.id}


def as_entity(value: Any, where: str, known: set[str]) -> Entity:
    """Read a prediction: a string (perhaps the id of a gold answer), an object, or null."""
    if value is None:
        return Entity("", "")
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = json.dumps(value)  # a year as 1936, as most dumps have it
    if isinstance(value, str):
        return Entity(value if value in known else "", value)
    if isinstance(value, dict):
        if not {"id", "name"} & value.keys():
            raise BadField(f"field '{where}' has neither a name nor an id")
        return Entity(_text(value, "id", where), _text(value, "name", where))
    raise BadField(f"field '{where}' must be a string or a number, got {_say(value)}")


def _read_predicted(value: Any, where: str, known: set[str]) -> PredictedEntities | None:
    if value is None:
        return None
    return tuple(
        Entity(each if each in known else "", each)
        if isinstance(each, str)
        else as_entity(each, f"{where}[{i}]", known)
        for i, each in enumerate(_list(value, where))
    )


def _answer(value: Any, where: str) -> Answer:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = json.dumps(value)
    if isinstance(value, str):
        return Answer(value)
    if not isinstance(value, dict):
        raise BadField(f"field '{where}' must be a string or an object, got {_say(value)}")
    name, id_ = _text(value, "name", where), _text(value, "id", where)
    if not name and not id_:
        raise BadField(f"field '{where}' has neither a name nor an id")
    aliases = _list(value.get("aliases") or [], f"{where}.aliases")
    for alias in aliases:
        if not isinstance(alias, str):
            raise BadField(f"field '{where}.aliases' must hold strings, got {_say(alias)}")
    return Answer(name, id_, tuple(aliases))


def _text(value: dict[str, Any], key: str, where: str) -> str:
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise BadField(f"field '{where}.{key}' must be a string, got {_say(found)}")
    return found or ""


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise BadField(f"field '{where}' must be a list, got {_say(value)}")
    return value


def _rows(record: dict[str, Any], key: str) -> tuple[Mapping[str, Any], ...]:
    rows = _list(record.get(key), key)
    for row in rows:
        if not isinstance(row, dict):
            raise BadField(f"field '{key}' must hold JSON objects, got {_say(row)}")
    return tuple(rows)


def _judge(record: dict[str, Any]) -> bool | None:
    verdict = record.get("judge")
    if verdict is None or verdict in (True, False):
        return None if verdict is None else bool(verdict)
    raise BadField(f"field 'judge' must be true or false, got {_say(verdict)}")


def _say(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:37] + "..."
