"""Result files of other systems, and our own run folders, as records to score.

Formats: `ours` (see `eval.score.predictions`; trajectories and run folders of `graphwalker eval`
too), `rog` (GNN-RAG and GCR write it as well), `tog` and `kg-r1` as those systems' scripts write
and read them. `auto` tells them apart by the fields of each record. A file without gold answers
needs the questions beside it.
"""

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from eval.run.records import FAILURES, PREDICTIONS, SAMPLES, SampledEpisode
from eval.score.compat_papers import kg_r1_items
from eval.score.expected import ExpectedQuestions
from eval.score.forms import part_names
from eval.score.predictions import (
    NO_GOLD,
    BadField,
    Parse,
    PredictedEntities,
    Prediction,
    as_entity,
    ids_of,
    parse_ours,
    read_file,
    read_gold,
    read_id,
)
from graphwalker.answers.rows import Rows, read_row
from graphwalker.datasets.loaders.freebase.webqsp import parses
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.graphs.base import Entity
from graphwalker.graphs.names import fold
from graphwalker.question import Answer
from graphwalker.scoring import predicted_entities, score
from graphwalker.trajectory import Trajectory

_log = logging.getLogger(__name__)
Gold = Mapping[str, tuple[Answer, ...]]

_INFORMATION = re.compile(r"<information>.*?</information>", re.DOTALL)
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def read_predictions(
    path: Path, layout: str = "auto", expected: ExpectedQuestions | None = None
) -> Iterator[Prediction]:
    """Records of a file, or of an evaluation run's folder, one at a time.

    With `expected`, the first record of each of its questions alone; its answers are the gold,
    whatever the records carry. Infrastructure failures are set aside. Raises `UserError` naming
    file, line and field.
    """
    parse = parser_of(layout, expected.gold if expected else {})
    if path.is_dir():
        records = _read_folder(path, expected)
        records = expected.of_run(records) if expected else records
    else:
        records = read_file(path, expected.check_records(parse) if expected else parse)
    return (record for record in records if not record.failed)


def parser_of(layout: str, gold: Gold) -> Parse:
    """Return the parser of a format. Raises `UserError` listing the known ones."""
    known = {fold(name) for answers in gold.values() for one in answers
             for name in (one.name, *one.aliases)}  # fmt: skip
    parsers: dict[str, Parse] = {
        "auto": lambda record: _parse_any(record, gold, known),
        "ours": lambda record: _parse_own(record, gold),
        "rog": lambda record: parse_rog(record, gold),
        "tog": lambda record: parse_tog(record, gold, known),
        "kg-r1": lambda record: parse_kg_r1(record, gold),
    }
    if layout not in parsers:
        raise UserError(f"no format is named {layout!r}; known: {', '.join(parsers)}")
    return parsers[layout]


def _parse_any(record: dict[str, Any], gold: Gold, known: Collection[str]) -> Prediction:
    if "response" in record and "predictions" not in record:
        return parse_kg_r1(record, gold)
    if isinstance(record.get("results"), str):
        return parse_tog(record, gold, known)
    if isinstance(record.get("cand"), list):
        found = _candidates(record["cand"])
        return parse_rog({"id": record.get("question"), **record, "prediction": found}, gold)
    if "prediction" in record and "predictions" not in record:
        return _parse_text(record, gold, known)
    return _parse_own(record, gold)


def _candidates(pairs: list[Any]) -> list[str]:
    """Return the entities of GNN-RAG's retrieval: pairs of entity and score, the best first."""
    for place, pair in enumerate(pairs):
        if not isinstance(pair, list) or not pair or not isinstance(pair[0], str | int):
            raise BadField(f"field 'cand[{place}]' must be a pair [entity, score]")
    return [str(pair[0]) for pair in pairs]


def parse_rog(record: dict[str, Any], gold: Gold) -> Prediction:
    """RoG's predictions.jsonl: `prediction` (text of one a line, or a list) and `ground_truth`.

    A list is made distinct, the most frequent first, and a text is split at its line ends, as
    evaluate_results.py does before it scores. Of GCR's texts, what follows the path counts. `null`
    is no answer. Raises `BadField`.
    """
    value = record.get("prediction")
    texts: list[str] | None
    if isinstance(value, str):
        texts = value.split("\n")
    elif isinstance(value, list) and all(isinstance(text, str) for text in value):
        texts = [text for text, _ in Counter(map(_after_path, value)).most_common()]
    elif value is None and "prediction" in record:
        texts = None
    else:
        raise BadField("field 'prediction' must be a string, a list of strings or null")
    answers = _gold_answers(record, "ground_truth", gold)
    return Prediction(
        read_id(record), answers, None if texts is None else _entities(texts, answers)
    )


def _parse_text(record: dict[str, Any], gold: Gold, known: Collection[str]) -> Prediction:
    """RoG's form, where a text of one line may part names in other ways (`eval.score.forms`)."""
    read, text = parse_rog(record, gold), record["prediction"]
    if not isinstance(text, str) or not text.strip() or "\n" in text.strip():
        return read
    return _with_names(read, text, known)


def _with_names(read: Prediction, text: str, known: Collection[str]) -> Prediction:
    """Return the record with the names of a text, and a hint where it was guessed how it parts."""
    own = {fold(name) for one in read.answers for name in (one.name, *one.aliases)}
    names, remark = part_names(text, known or own)
    hint = (remark, text) if remark else None
    return replace(read, predictions=_entities(names, read.answers), hint=hint)


def _after_path(text: str) -> str:
    """GCR's generations read `# Reasoning Path: ... # Answer: NAME`."""
    return text.rpartition("# Answer:")[2].strip() if "# Answer:" in text else text


def parse_tog(record: dict[str, Any], gold: Gold, known: Collection[str] = ()) -> Prediction:
    """Think-on-Graph's output: `question`, `results`; gold from `answers` or the questions.

    `tog_em` reads `results` as it is; the other metrics see what stands in its braces, each pair
    an answer, one pair alone parted at its commas (`eval.score.forms`); the whole text where there
    are none. Raises `BadField`.
    """
    question, results = record.get("question"), record.get("results")
    if not isinstance(results, str):
        raise BadField("field 'results' is missing or no string")
    if not isinstance(question, str):
        raise BadField("field 'question' is missing or no string")
    braced = re.findall(r"\{([^{}]*)\}", results)
    answers = _gold_answers(record, "answers", gold)
    read = Prediction(
        id=str(record.get("id", question)),
        answers=answers,
        predictions=_entities([text.strip() for text in braced or [results]], answers),
        raw=results,
    )
    return _with_names(read, f"{{{braced[0]}}}", known) if len(braced) == 1 else read


def parse_kg_r1(record: dict[str, Any], gold: Gold) -> Prediction:
    """KG-R1's detailed results: `uid` and `response`, its first answer tag outside information.

    `ground_truth` is a list, or `target_text` and `target_kb_id`. KG-R1's metrics read the tag's
    text; the others its items, split as KG-R1 splits them. Raises `BadField`.
    """
    response = record.get("response")
    if not isinstance(response, str):
        raise BadField("field 'response' is missing or no string")
    tag = _ANSWER.search(_INFORMATION.sub("", response))
    text = tag[1] if tag else ""
    items = [item for item in kg_r1_items(text) if item.strip()]
    answers = _gold_answers(record, "ground_truth", gold)
    return Prediction(
        id=read_id(record),
        answers=answers,
        predictions=_entities(items, answers) if tag else None,
        raw=text,
    )


def _entities(texts: Iterable[str], answers: Iterable[Answer]) -> PredictedEntities:
    known = ids_of(answers)
    return tuple(as_entity(text, "prediction", known) for text in texts)


def _gold_answers(record: dict[str, Any], key: str, gold: Gold) -> tuple[Answer, ...]:
    own = read_gold(record, key)
    if own is not None:
        return own
    known = (str(record[name]) for name in ("id", "uid", "question") if name in record)
    found = next((gold[name] for name in known if name in gold), None)
    if found is None:
        unknown = " and the questions do not know it" if gold else NO_GOLD
        raise BadField(f"field {key!r} is missing{unknown}")
    return found


def _parse_own(record: dict[str, Any], gold: Gold) -> Prediction:
    if isinstance(record.get("turns"), list) and "predictions" not in record:
        return of_trajectory(_trajectory(record))
    known = gold.get(str(record.get("id")))
    if gold and known is None and "answers" not in record:
        raise BadField(f"no question of that id: {read_id(record)!r}")
    return parse_ours(record, known)


def _trajectory(record: dict[str, Any]) -> Trajectory:
    try:
        return Trajectory.from_json(record)
    except UserError as error:
        raise BadField(str(error)) from None


def of_trajectory(trajectory: Trajectory, passed: tuple[bool, ...] = ()) -> Prediction:
    """Return one of our episodes as a record, with the scores that only an episode has."""
    if trajectory.stop.infrastructure_failure:
        return Prediction(id=trajectory.question.id, failed=True)
    scores = score(trajectory)
    recovered = {"recovery_all": scores["recovered"]}
    if scores["had_error"]:
        recovered["recovery_given_error"] = scores["recovered"]
    predictions = predicted_entities(trajectory)
    question = trajectory.question
    gold = question.gold if isinstance(question.gold, Rows) else None
    return Prediction(
        id=trajectory.question.id,
        answers=trajectory.question.answers,
        predictions=None if predictions is None else tuple(predictions),
        parses=parses(trajectory.question) if "parses" in trajectory.question.annotations else (),
        passed=passed,
        rows=tuple(map(read_row, trajectory.answer or ())) if gold else None,
        gold_rows=gold.nearest(trajectory.answer) if gold else (),
        by_kind=scores if question.gold else {},
        scored={
            "retrieval_any": scores["retrieval_any"],
            "retrieval_all": scores["retrieval_all"],
            **recovered,
        },
    )


def _read_folder(folder: Path, expected: ExpectedQuestions | None) -> Iterator[Prediction]:
    if not (folder / PREDICTIONS).is_file():
        raise UserError(
            f"{folder}: not an evaluation run (no {PREDICTIONS}); make one with: graphwalker eval"
        )
    drawn: dict[str, list[SampledEpisode]] = defaultdict(list)
    if (folder / SAMPLES).is_file():
        for sample in read_records(folder / SAMPLES, SampledEpisode.from_json):
            if not sample.stop.infrastructure_failure:
                drawn[sample.question_id].append(sample)
    failed = set[str]()
    if (folder / FAILURES).is_file():
        lost = read_records(folder / FAILURES, Trajectory.from_json)
        failed = {trajectory.question.id for trajectory in lost if not trajectory.sample}
    for trajectory in read_records(folder / PREDICTIONS, Trajectory.from_json):
        samples = drawn.get(trajectory.question.id, [])
        if expected:
            trajectory = expected.settle(trajectory)
            samples = list(map(expected.settle_sample, samples))
        record = of_trajectory(trajectory, tuple(one.scores.get("em") == 1 for one in samples))
        given = (one.answer for one in samples)
        record = replace(record, samples=tuple(
            None if names is None else tuple(Entity("", name) for name in names) for names in given
        ))  # fmt: skip
        failed = failed | {record.id} if record.failed else failed - {record.id}
        yield record
    if failed:
        _log.warning("%s: %d questions failed in the infrastructure: no score", folder, len(failed))
