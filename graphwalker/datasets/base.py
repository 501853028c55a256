"""Questions from files: our own JSONL, and every published form of the datasets."""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from graphwalker.counts import number_of
from graphwalker.datasets import companions
from graphwalker.datasets.catalogue import Size, dataset, published_size
from graphwalker.datasets.files import (
    Broken,
    Contents,
    Record,
    as_object,
    open_file,
    salvage,
    text_lines,
)
from graphwalker.datasets.loaders.other.grbench import GrBench, graph_of
from graphwalker.datasets.records import DatasetFile
from graphwalker.datasets.registry import LAST, RecordForm, recognise
from graphwalker.errors import UserError
from graphwalker.question import Answer, Question
from graphwalker.runs import warn_if_unfinished
from graphwalker.settings.named import QUESTION_FILES, is_own, local_path

log = logging.getLogger(__name__)

OnUnanswered = Literal["error", "drop", "keep"]
"""What to do with a question whose list of gold answers is empty."""

_SPLIT = re.compile(r"(?<![a-z])(train|dev|valid(?:ation)?|val|test)(?![a-z])", re.IGNORECASE)
_HOPS = re.compile(r"(?<![a-z0-9])([123])[-_]?hop", re.IGNORECASE)
_IDS = ("QuestionId", "ID", "id", "qid", "uid", "index")


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a file of questions."""

    format: str = "auto"
    """A dataset's name (`graphwalker dataset list`), `module:NAME`, or `auto`: by its records."""
    split: str = ""
    """`train`, `dev` or `test`; by default what the file's name says."""
    language: str = "en"
    """Of the question's wording, in QALD."""
    topic_entities: Path | None = None
    """A file of the same questions with linked topic entities."""
    answers: Path | None = None
    """A file of the same questions with their answers, or with the answers' ids."""
    alone: bool = False
    """Do not read the companions that lie beside the file by name."""
    unanswered: OnUnanswered = "error"
    """`error` spares a whole published file: its unanswered questions are set aside, and named."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Questions and where they are from."""

    questions: list[Question]
    dataset: str
    form: str
    size: Size | None
    """The published file of exactly this many records, if there is one."""
    companions: tuple[Path, ...] = ()
    unanswered: list[str] = field(default_factory=list[str])
    """Ids of questions set aside because they have no gold answer."""
    notes: list[str] = field(default_factory=list[str])
    """What is odd about a whole published file."""
    faulty: list[str] = field(default_factory=list[str])
    """Why each faulty record of a published file was set aside, where its form does that."""


def load_questions(
    path: Path | str,
    limit: int | None = None,
    format: str = "auto",
    unanswered: OnUnanswered = "error",
) -> list[Question]:
    """Questions of a file in our form or any published one, plain or .gz, each checked.

    Raises `UserError` naming file, record and field; also for a repeated id, an empty file, and a
    file that fits no form or several (`format` names the dataset then).
    """
    return load_dataset(path, Reading(format, unanswered=unanswered), limit).questions


def load_dataset(
    path: Path | str, reading: Reading | None = None, limit: int | None = None
) -> Loaded:
    """Load questions, with the form that was found, companions, and the published size."""
    path, reading = local_path(path, QUESTION_FILES), reading or Reading()
    known = dataset(str(path))
    if known.url and not path.exists():
        raise UserError(f"{path}: no such file; download {known.title} from {known.url}")
    warn_if_unfinished(path)
    contents, form, name = _open(path, reading.format)
    others = _companions(path, reading)
    file = _source(path, name, reading, bool(others))
    if form is GrBench and reading.format == "auto" and not graph_of(file):
        log.warning(
            "%s: read as GRBench, whose answers are free texts; --format own "
            "(questions_format=own) reads names", path,
        )  # fmt: skip
    if form is LAST and (unread := LAST.unread(contents)):
        log.warning("%s: columns that are not read: %s", path, ", ".join(unread))
    faults: list[str] = []
    numbered = list(_number_questions(contents, form, file, limit, faults))
    if faults and not numbered:
        raise UserError(faults[0])
    split = file.split or next((q.split for _, q in numbered), "")
    size = published_size(name, split, contents.total or len(numbered), _parts(numbered))
    questions = [question for _, question in numbered]
    if form is LAST:
        _warn_of_repeated(path, questions)
    for other in others:
        known = _companion(other, reading.format if is_own(reading.format) else name, reading)
        questions = companions.join(questions, known, other)
    loaded = Loaded(questions, name, form.form, size, tuple(others), faulty=faults)
    numbers = [number for number, _ in numbered]
    unanswered = "keep" if form.answers_by_query else reading.unanswered
    checked = _drop_unanswered(path, loaded, numbers, unanswered)
    return replace(checked, notes=[*_notes(checked), *(f"{f}: set aside" for f in loaded.faulty)])


def _warn_of_repeated(path: Path, questions: Sequence[Question]) -> None:
    """Warn of one question in several rows: each row's answers would be all that it has."""
    answers: dict[tuple[str, frozenset[str]], set[tuple[Answer, ...]]] = {}
    for question in questions:
        key = question.text, frozenset(topic.name for topic in question.topic_entities)
        answers.setdefault(key, set()).add(question.answers)
    if repeated := [text for (text, _), found in answers.items() if len(found) > 1]:
        log.warning(
            "%s: %s in several rows with other answers, the first %r: are they answers of one "
            "question? They belong in one row, with | between them",
            path, number_of(len(repeated), "question stands", "questions stand"), repeated[0],
        )  # fmt: skip


def _open(path: Path, name: str) -> tuple[Contents, RecordForm, str]:
    """Get the file and its form. One with broken JSON is read where its form sets faults aside."""
    try:
        contents = open_file(path, with_graphs=False)
    except UserError as error:
        contents = salvage(path) if path.is_file() else None
        if contents is None or not contents.head:
            raise
        try:
            form, found = recognise(contents, name)
        except UserError:
            raise error from None
        if not form.sets_aside:
            raise
        return contents, form, found
    return contents, *recognise(contents, name)


def parse_record(record: Record, path: Path, form: RecordForm, file: DatasetFile) -> Question:
    """Return one question. Raises `UserError` naming file, record, id and field."""
    try:
        found = form.read(record.value).to_question(record.number, file)
    except UserError as error:
        raise UserError(f"{path}: {_label(record)}: {error}") from None
    return replace(
        found,
        id=found.id or file.question_id(record.number),
        dataset=found.dataset or file.dataset,
        split=found.split or file.split,
    )


def _number_questions(
    contents: Contents, form: RecordForm, file: DatasetFile, limit: int | None, faults: list[str]
) -> Iterator[tuple[int, Question]]:
    """Record number and question; what is wrong with a record goes to `faults` where the form sets
    such records aside."""
    seen: dict[str, int] = {}
    for record in contents.records:
        try:
            question = _check(record, contents.path, form, file, seen)
        except UserError as error:
            if not form.sets_aside:
                raise
            faults.append(str(error))
            log.warning("%s: set aside", error)
            continue
        seen[question.id] = record.number
        yield record.number, question
        if limit is not None and len(seen) >= limit:
            return


def _check(
    record: Record, path: Path, form: RecordForm, file: DatasetFile, seen: Mapping[str, int]
) -> Question:
    """Return the question, with an id of its own. Questions over our graphs must have topics."""
    if isinstance(record.value, Broken):
        raise UserError(f"{record.value.why}, in record {record.number}")
    question = parse_record(record, path, form, file)
    if question.id in seen:
        raise UserError(
            f"{path}: {_label(record)}: question id {question.id!r} stands there "
            f"twice, first in record {seen[question.id]}"
        )
    known = dataset(file.dataset or question.dataset)
    anywhere = known.open_topics or question.gold is not None
    if not question.topic_entities and not anywhere:
        raise UserError(f"{path}: {_label(record)}: has no topic entity")
    return question


def _parts(numbered: list[tuple[int, Question]]) -> frozenset[str]:
    """Return what the first question says of its file: MetaQA's hops, GRBench's graph."""
    first = [question for _, question in numbered[:1]]
    return frozenset(part for q in first for part in (q.structure, q.facets.get("graph", "")))


def _label(record: Record) -> str:
    """`record 3 (WebQTest-12)`."""
    value = as_object(record.value) or {}
    found = next((value[key] for key in _IDS if isinstance(value.get(key), str | int)), None)
    return f"record {record.number}" + (f" ({str(found)[:80]})" if found is not None else "")


def _source(path: Path, name: str, reading: Reading, answers_elsewhere: bool) -> DatasetFile:
    dataset = "" if name == "ours" else name
    types = companions.question_types(path) if name == "metaqa" else None
    hops = _HOPS.findall("/".join(path.parts[-3:]))
    return DatasetFile(
        path,
        dataset,
        reading.split or split_of(path.name),
        reading.language,
        int(hops[-1]) if hops else 0,
        tuple(text_lines(types)) if types else (),
        answers_elsewhere,
    )


def split_of(name: str) -> str:
    """`train`, `dev` or `test` where a file's name says one of them, else `""`.

    >>> split_of("WebQSP.test.json"), split_of("annotated_fb_data_valid.txt"), split_of("qa.json")
    ('test', 'dev', '')
    """
    found = {match.lower() for match in _SPLIT.findall(name)}
    found = {"dev" if split.startswith("val") else split for split in found}
    return found.pop() if len(found) == 1 else ""


def _companions(path: Path, reading: Reading) -> list[Path]:
    given = [p for p in (reading.topic_entities, reading.answers) if p is not None]
    found = [] if reading.alone or given else companions.beside(path)
    for other in found:
        log.info("%s: with %s, which lies beside", path, other.name)
    return given + found


def _companion(path: Path, name: str, reading: Reading) -> list[Question]:
    contents = open_file(path)
    form, _ = recognise(contents, name)
    file = replace(_source(path, name, reading, True), types=())
    return [parse_record(record, path, form, file) for record in contents.records]


def _drop_unanswered(
    path: Path, loaded: Loaded, numbers: list[int], unanswered: OnUnanswered
) -> Loaded:
    """Drop the questions that have no gold answer, where that is allowed."""
    pairs = zip(numbers, loaded.questions, strict=True)
    empty = [(n, q.id) for n, q in pairs if not (q.answers or q.gold)]
    if empty and unanswered == "error" and loaded.size is None:
        number, question_id = empty[0]
        raise UserError(
            f"{path}: record {number} ({question_id}): has no answers; leave such ones out with "
            f"`graphwalker dataset check {path} --unanswered drop --out FILE`"
        )
    left = [] if unanswered == "keep" else [question_id for _, question_id in empty]
    if left:
        log.warning("%s: %d questions without answers are set aside", path, len(left))
    dropped = set(left)
    kept = [q for q in loaded.questions if q.id not in dropped]
    if not kept:
        raise UserError(f"{path}: holds no questions with answers")
    return replace(loaded, questions=kept, unanswered=left)


def _notes(loaded: Loaded) -> list[str]:
    """Return where a whole published file is not what was published."""
    expected = dataset(loaded.dataset).structures if loaded.size else {}
    found = Counter(question.structure for question in loaded.questions)
    return [
        f"{found[structure]} questions are {structure}, {count} in the published table"
        for structure, count in expected.items()
        if found[structure] != count
    ]
