"""Verification: every record of a data file, executed again on the graph that it was made from."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_pipeline.certificates import FRONTIER_LIMIT, has_shortcut, leaks, other_reading
from data_pipeline.jobs.distinct import TextSet
from data_pipeline.jobs.ledger import is_intact
from data_pipeline.verification.claim import Claim, claim_of
from data_pipeline.verification.replay import RUN, Replayer, layers_of
from data_pipeline.verification.verdict import (
    Failure,
    FileVerdict,
    card_digest,
    count_lines,
    numbered_lines,
    parse_record,
)
from data_pipeline.walks.endpoint import as_shown
from data_pipeline.walks.sampler import STRUCTURES
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.answers.kinds import Absent
from graphwalker.counts import number_of
from graphwalker.errors import UserError
from graphwalker.files import JSON_LINES, digest
from graphwalker.graphs.base import FLATTENED, Direction, KnowledgeGraph, Side
from graphwalker.graphs.literals import is_literal
from graphwalker.query.constraint import CONSTRAINED, constraint_fault
from graphwalker.query.query import Execution, Query, execute
from graphwalker.query.sparql import render
from graphwalker.question import Question
from graphwalker.runs import warn_if_unfinished
from graphwalker.scoring import is_right, score
from graphwalker.trajectory import Trajectory, check_version

Flaw = tuple[str, str]
"""The kind of a failure, and what exactly is the matter."""
Tick = Callable[[int, int], None]


def verify_file(
    graph: KnowledgeGraph,
    path: Path,
    max_answers: int | None = None,
    progress: Tick | None = None,
    *,
    replay: bool = True,
    environment: Mapping[str, Any] | None = None,
    trust: Sequence[str] = (),
) -> FileVerdict:
    """Execute every record of walks, questions or trajectories again, one at a time.

    The calls of a trajectory are made again, in the environment of the run that its folder names;
    `environment` holds settings that win over that one, `trust` the folders whose files may name
    code, paths and addresses (`graphwalker.trust`), `replay=False` leaves this out. Each
    record is compared with the digest that was written with it, the whole file with the one on its
    data card. `max_answers`: the uniqueness bound, more answers than that are a failure; no bound
    if `None`. Raises `UserError` for a file that is empty or holds other records, `GraphError` when
    the graph fails: that is no verdict on a record.
    """
    warn_if_unfinished(path)
    started = time.perf_counter()
    total = count_lines(path) if progress else 0
    verdict, first_fault = FileVerdict(), ""
    replayer = Replayer(graph, path, environment or {}, trust) if replay else None
    if replayer and replayer.asks_a_model:
        verdict.notes.append("observations: not replayed, a chat model reranks what is listed")
        replayer = None
    shown = as_shown(graph, layers_of(path.parent))
    check = Verifier(shown, max_answers, replayer, is_evaluation(path))
    readable = False
    for number, line in numbered_lines(path):
        verdict.records += 1
        try:
            record = parse_record(line)
        except ValueError as error:
            first_fault = first_fault or f"{path}:{number}: {error}"
            verdict.add(Failure(number, "?", "damaged", str(error)))
            continue
        try:
            verdict.add(check.failure(number, record, line))
            readable = True
        except UserError as error:
            if not readable:
                raise UserError(f"{path}: line {number}: {error}") from None
            verdict.add(Failure(number, str(record.get("id", "?")), "malformed", str(error)))
        if progress:
            progress(verdict.records, max(total, verdict.records))
    if not verdict.records:
        raise UserError(f"{path}: holds no records")
    if not readable:
        raise UserError(f"{first_fault}; {JSON_LINES}")
    if verdict.reasons["malformed"] == verdict.records:
        verdict.notes.append(
            "no record could be read: of questions in another form `graphwalker dataset check FILE "
            "--graph G --out OURS.jsonl` writes ours"
        )
    _finish(verdict, check, path, replayer)
    verdict.seconds = time.perf_counter() - started
    return verdict


REPLAYED = frozenset(f"{what} differs" for what in ("context", "observation", "listed", "hidden"))
"""Failures that other limits of the tools explain."""


def _finish(verdict: FileVerdict, check: "Verifier", path: Path, replayer: Replayer | None) -> None:
    """Note what is known at the end: the file as a whole, and what was compared with nothing."""
    verdict.trajectories, verdict.replayed = check.trajectories, check.replayed
    verdict.digests = check.digests
    if check.unexecuted:
        verdict.notes.append(
            f"{number_of(check.unexecuted, 'question has', 'questions have')} no query that finds "
            "exactly the answers: there only topic entities, answers and the episode were checked"
        )
    if verdict.records and verdict.reasons.get("topic entity unknown", 0) == verdict.records:
        verdict.notes.append("the graph has no topic entity of the records: is it their graph?")
    if replayer and not replayer.has_run and REPLAYED & verdict.reasons.keys():
        verdict.notes.append(
            f"no {RUN} beside the file: the calls were made again in {replayer.named_by}; if the "
            "run had other limits, give them (environment.top_relations=12 and its like)"
        )
    if lacking := verdict.records - check.digests:
        why = "an evaluation writes none" if check.evaluation else "another program wrote them"
        verdict.notes.append(
            f"{number_of(lacking, 'record has', 'records have')} no digest ({why}): a change of a "
            "thought or a question's text shows only where the environment would have shown "
            "something else"
        )
    on_card = card_digest(path)
    if on_card and not verdict.failed and on_card != digest(path):
        detail = "every record holds, but records were added, removed or moved since it was made"
        verdict.add(Failure(0, path.name, "file differs from its data card", detail))


def is_evaluation(path: Path) -> bool:
    """Return whether the file holds the episodes of an evaluation, of which some are wrong."""
    return path.name == "predictions.jsonl" and (path.parent / "config.json").is_file()


class Verifier:
    """The certificates of one graph's records."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        max_answers: int | None = None,
        replayer: Replayer | None = None,
        evaluation: bool = False,
    ) -> None:
        self.graph = self._given = graph
        self.evaluation = evaluation
        self.max_answers = max_answers
        self.trajectories = self.replayed = self.digests = self.unexecuted = 0
        self._replayer = replayer
        self._seen = TextSet()
        self._relations = frozenset(graph.relation_ids()) or None
        self._inverse = lexicon_of(graph).inverse

    def failure(self, number: int, record: dict[str, Any], line: bytes) -> Failure | None:
        """Return why the record of a line does not hold; `None` where it does.

        Raises `UserError` for what is no walk, question or trajectory of this format.
        """
        if not {"visited", "question"} & record.keys():
            raise UserError("neither a walk, nor a question, nor a trajectory")
        if "turns" in record:
            check_version(record)
        name = str(record.get("id", "?"))
        intact = is_intact(line, record)
        self.digests += intact is not None
        if name != "?" and not self._seen.add(name):
            return Failure(number, name, "id again", "a record before it has the same id")
        try:
            claim = claim_of(record)
        except (UserError, KeyError, TypeError, ValueError, AttributeError) as error:
            kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
            return Failure(number, name, "malformed", f"{kind}{error}")
        if not claim.is_published and not (claim.query and claim.query.branches):
            return Failure(number, name, "no query", "nothing to execute")
        if claim.question is not None:
            self.graph = self._given.for_question(claim.question)
        fault = next(self.faults(claim), None)
        if fault is None and intact is False:
            fault = "digest differs", "the record was changed after it was made"
        if fault is None and intact is None and self.digests:
            fault = "digest missing", "records before it have one"
        return Failure(number, name, *fault) if fault else None

    def faults(self, claim: Claim) -> Iterator[Flaw]:
        """Yield the faults, root causes first."""
        unknown = [*self._topics(claim), *self._relations_of(claim.query)]
        yield from unknown
        if unknown:
            return
        if claim.query and claim.is_executable:
            yield from self._executed(claim, claim.query)
        else:
            self.unexecuted += 1
            ids = [identifier for identifier, _ in claim.answers if identifier]
            if ids and len(missing := list(self._unknown(ids))) == len(set(ids)):
                yield "answers unknown", _some(missing)
        if claim.trajectory is not None:
            self.trajectories += 1
            yield from self._turns(claim.trajectory)
            ends = _scores if self.evaluation else _episode
            yield from ends(claim.trajectory)
            if self._replayer:
                self.replayed += 1
                yield from self._replayer.faults(claim.trajectory)

    def _executed(self, claim: Claim, query: Query) -> Iterator[Flaw]:
        """Yield what the query finds otherwise than the record says; of a question of ours, every
        certificate, too."""
        run = execute(self.graph, query, FRONTIER_LIMIT)
        yield from self._answers(claim, query, run)
        if claim.is_published:
            return
        yield from _shape(claim, query)
        yield from _path(claim, query, run)
        if query.constraint and (
            fault := constraint_fault(self.graph, query.constraint, run.tail_frontiers[-2])
        ):
            yield "constraint unclear", fault
        if run.answers and has_shortcut(self.graph, query, run):
            yield "shortcut", "a part of the query already gives the same answers"
        # An endpoint does not list its relations, so it stays open which of two
        # SPARQL forms is meant.
        known = self._relations is not None
        if claim.sparql and known and claim.sparql != render(query, self._relations):
            yield "sparql differs", "the stored SPARQL is not the query's"
        if claim.question is not None:
            yield from self._check_wording(claim.question, query, run)

    def _topics(self, claim: Claim) -> Iterator[Flaw]:
        own = claim.question.topic_entities if claim.question else ()
        topics = claim.query.topics if claim.query else own
        for topic in topics:
            found = topic.id or next((e.id for e in self.graph.resolve(topic.name)), "")
            name = self.graph.name(found)
            if not name:
                yield "topic entity unknown", f"{topic.id} ({topic.name})"
            elif name != topic.name and not claim.is_published:
                yield "topic entity renamed", f"{topic.id} is {name!r} here, not {topic.name!r}"
        if claim.question is not None:
            listed = {entity.id for entity in claim.question.topic_entities}
            missing = [topic.id for topic in topics if topic.id not in listed]
            if missing:
                yield "topic entity unknown", f"{missing[0]} is no topic entity of the question"

    def _relations_of(self, query: Query | None) -> Iterator[Flaw]:
        for relation in query.relations if query else ():
            if not self._knows(relation):
                yield "relation unknown", relation

    def _knows(self, relation: str) -> bool:
        """Return whether the graph has the relation, or both halves; True where it lists none."""
        known = self._relations
        return known is None or relation in known or known.issuperset(relation.split(FLATTENED))

    def _turns(self, trajectory: Trajectory) -> Iterator[Flaw]:
        """Check that the graph knows what turns show, and what their calls name with success."""
        for one in self._unknown([e.id for turn in trajectory.turns for e in turn.shown]):
            yield "shown entity unknown", one
        calls = [turn.action.get("arguments", {}) for turn in trajectory.turns if not turn.error]
        for relation in dict.fromkeys(r for call in calls for r in call.get("relations", ())):
            if not self._knows(relation):
                yield "relation unknown", relation

    def _unknown(self, ids: Sequence[str]) -> Iterator[str]:
        """Yield the ids that the graph has neither a name nor a triple of."""
        distinct = list(dict.fromkeys(ids))
        names = zip(distinct, self.graph.names_many(distinct), strict=True)
        unnamed = [one for one, name in names if not name and not is_literal(one)]
        # Agents that walk CVT nodes are shown them by their ids.
        sides = [Side(one, direction) for one in unnamed for direction in Direction]
        found = self.graph.relations_many(sides) if sides else []
        for one, out, into in zip(unnamed, found[::2], found[1::2], strict=True):
            if not (out or into):
                yield one

    def _answers(self, claim: Claim, query: Query, run: Execution) -> Iterator[Flaw]:
        claimed = {identifier or name for identifier, name in claim.answers}
        by_id = all(identifier for identifier, _ in claim.answers)
        found = {entity.id if by_id else entity.name for entity in run.answers}
        if not run.answers and not claimed and claim.structure == Absent.kind:
            return
        if not run.answers:
            dead = _dead_end(query, run)
            yield "answers differ", f"nothing {dead} here; {_some(claimed)} in the record"
        elif not _same_answers(claim, run) if claim.is_published else claimed != found:
            yield (
                "answers differ",
                f"only here: {_some(found - claimed)}; not here: {_some(claimed - found)}",
            )
        elif by_id and not claim.is_published and _pairs(run) != set(claim.answers):
            yield "answers differ", "same ids, other names"
        if self.max_answers is not None and len(run.answers) > self.max_answers:
            yield "too many answers", f"{len(run.answers)}, {self.max_answers} allowed"
        topics = set[str]() if claim.is_published else {topic.id for topic in query.topics}
        if any(entity.id in topics for entity in run.answers):
            yield "topic in answers", _some(e.name for e in run.answers if e.id in topics)

    def _check_wording(self, question: Question, query: Query, run: Execution) -> Iterator[Flaw]:
        if leaks(question.text, run.answers):
            yield "answer in question", question.text
        if question.wording:
            rival = other_reading(self.graph, query, question.wording, run, inverse=self._inverse)
            if rival:
                yield "ambiguous reading", rival


def _same_answers(claim: Claim, run: Execution) -> bool:
    """Compare as an agent's answer is: a benchmark's names may be aliases or other spellings."""
    return claim.question is not None and is_right(run.answers, claim.question.answers)


def _pairs(run: Execution) -> set[tuple[str, str]]:
    return {(entity.id, entity.name) for entity in run.answers}


def _dead_end(query: Query, run: Execution) -> str:
    """Return where an execution without answers first found nothing."""
    for branch, frontiers in zip(query.branches, run.frontiers, strict=True):
        for hop, reached in zip(branch.hops, frontiers[1:], strict=True):
            if not reached:
                return f"over {hop} from {branch.topic.id}"
    if query.constraint and run.tail_frontiers[-2]:
        return f"that the constraint on {query.constraint.relation} keeps"
    return "after the branches meet" if run.tail_frontiers[0] else "where the branches meet"


def _shape(claim: Claim, query: Query) -> Iterator[Flaw]:
    own = query.constraint.structure if query.constraint else ""
    if own != claim.structure and (own or claim.structure in CONSTRAINED):
        yield "structure differs", f"{claim.structure} in the record, {own or 'no constraint'} here"
    shape = (tuple(len(b.hops) for b in query.branches), len(query.tail))
    wanted = STRUCTURES.get(claim.structure, shape)
    if shape != wanted:
        yield "structure differs", f"{claim.structure} is {wanted}, the query {shape}"


def _path(claim: Claim, query: Query, run: Execution) -> Iterator[Flaw]:
    """Yield whether a walk stood where its query leads."""
    frontiers = [*run.frontiers, *([run.tail_frontiers] if query.tail else [])]
    for visited, stands in zip(claim.visited, frontiers, strict=False):
        for entity, frontier in zip(visited, stands, strict=False):
            if entity not in frontier:
                yield "visited entity not there", f"{entity.id} ({entity.name})"


def _episode(trajectory: Trajectory) -> Iterator[Flaw]:
    """Check that a trajectory of training data ends with the answers, and has seen each."""
    if trajectory.stop.infrastructure_failure:
        yield "episode failed", trajectory.stop.value
        return
    scores = score(trajectory)
    if scores["em"] != 1.0:
        yield "trajectory answers differ", _some(trajectory.answer or ())
    elif scores["retrieval_all"] != 1.0:
        yield "answer not shown", "no observation shows every answer"


def _scores(trajectory: Trajectory) -> Iterator[Flaw]:
    """Check that an episode of an evaluation, right or wrong, earns the scores that it records."""
    found = {} if trajectory.stop.infrastructure_failure else score(trajectory)
    for name, value in trajectory.scores.items():
        if name in found and abs(found[name] - value) > 1e-9:
            yield "scores differ", f"{name} is {value:g} in the record, {found[name]:g} here"


def _some(names: Iterable[str], most: int = 3) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return (", ".join(listed[:most]) + more) or "none"
