"""The goal of a synthesis: a mix of distinct questions, no relation and no path too often."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from data_pipeline.config import SynthConfig, quotas
from data_pipeline.jobs.distinct import Distinct, query_of
from data_pipeline.jobs.goals import Goal, draws, too_few
from data_pipeline.jobs.ledger import DROPPED, Ledger, Unit, unit_of
from data_pipeline.jobs.streams import RELATION_SHARE, StreamOrder, parse_stream
from data_pipeline.outcomes import Drop, RuledOut, SampledWalk
from data_pipeline.seeds.shares import read_shares
from data_pipeline.walks.plausibility import LOOSER, STEP_NAMES, STEPS
from data_pipeline.walks.sampler import STRUCTURES
from graphwalker.errors import UserError
from graphwalker.query.query import Query

WALKS, QUESTIONS, GRAPHSYNTH = "walks.jsonl", "questions.jsonl", "graphsynth.jsonl"
UNSCORED_FILE = "unscored.jsonl"

AttemptNumber = tuple[str, int, RuledOut | None, frozenset[str]]
"""Stream and number of an attempt; where it is made in its turn, what rules its walk out; the
relations that it keeps off."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The `files` of a run, the last one its product, and `build`, which makes their records."""

    name: str
    build: Callable[..., Callable[[AttemptNumber], Unit]]
    """Called with the graph, the config and, where there is one, the line to a chat model."""
    files: tuple[str, ...]

    @property
    def product(self) -> str:
        return self.files[-1]

    @property
    def distinct(self) -> str:
        """The file whose questions (or bare walks) must differ from one another."""
        return QUESTIONS if QUESTIONS in self.files else WALKS


FEW_USES = 5
"""Uses of a relation in one structure that are no share of it yet: a small run has no room for
shares."""


class Corpora(Protocol):
    """Other corpora, whose questions must not be made again."""

    stage: str
    """What drops are counted under."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What distinguishes one such set of corpora from another."""
        ...

    def holds(self, record: Mapping[str, Any]) -> tuple[str, str]:
        """Return why a walk or a question is ruled out, and what by; both empty where it is not."""
        ...


class SynthGoal(Goal):
    """A mix of distinct questions: the records made so far rule out some of those to come.

    A structure that the graph seems to have no more of is given up, and what it lacks is shared
    out among the others by weight. What is given up follows from the ledger alone, so that a
    resumed or merged run gives up the same. Raises `UserError` when none is left and none was made.
    """

    def __init__(
        self,
        config: SynthConfig,
        ledger: Ledger,
        recipe: Recipe,
        exclude: Corpora | None = None,
        in_line: bool = False,
    ) -> None:
        """`in_line`: an attempt is made when all before it were judged. It then ends where its walk
        is ruled out, as `judge` would end it."""
        self._requested = quotas(config.weights, config.count)
        ruled_out = self.ruled_out if in_line else None
        # What a stream keeps off is what had its share when its first attempt was made.
        self._avoided = cache(self._avoided_relations)
        super().__init__(self._requested, draws(ruled_out, self._avoided), ledger)
        self.config = config
        self._bare = recipe.product == WALKS
        self._shares = read_shares(config.predicates_file) if config.predicates_file else None
        self._steps = STEPS if config.plausibility.on else 1
        patience = max(1, config.max_attempts // self._steps)
        self._order = StreamOrder(self.quota, self._steps, patience)
        self._given_up: list[str] = []
        self._exclude = exclude
        self._made: Counter[str] = Counter()
        self._distinct = Distinct()
        self._paths: Counter[tuple[str, ...]] = Counter()
        self._relations: Counter[tuple[str, str]] = Counter()
        self._reason = ""
        """Why the attempt that was judged last is dropped."""
        self._checked: tuple[str, Query, tuple[str, ...], str] | None = None
        """The attempt about whose walk `ruled_out` was asked last, its query and path, and what it
        said: in line that is the one which is judged next."""
        for record in ledger.records(recipe.distinct):
            stream, _, number = unit_of(record).rpartition("/")
            self._avoided(stream)
            self._made[stream] += 1
            self._order.add(stream, int(number), "")
            self._remember(record, *query_of(record))
        for record in ledger.records(DROPPED):
            stream, _, number = unit_of(record).rpartition("/")
            self._order.add(stream, int(number), record["reason"])

    def next_structure(self) -> str | None:
        if self.kept.total() >= self.total:
            return None
        while (barren := self._barren()) is not None:
            self._give_up(barren)
        structure = super().next_structure()
        return structure and self._order.stream(structure)

    @property
    def streams(self) -> list[str]:
        return [stream for name in self.quota if (stream := self._order.stream(name))]

    def quota_of(self, stream: str) -> str:
        return parse_stream(stream).structure

    def is_open(self, stream: str) -> bool:
        return stream == self._order.stream(self.quota_of(stream))

    def _barren(self) -> str | None:
        """Return a structure that has no more attempts worth making and is not full. One that had
        all that was asked for may become one, when it takes the place of others."""
        for name, quota in self.quota.items():
            wanting = name not in self._given_up and self.kept[name] < quota
            if wanting and self._order.stream(name) is None:
                return name
        return None

    def _give_up(self, structure: str) -> None:
        """Share out what the structure lacks; where no other is left, the run ends with what it
        has. Raises `UserError` where that is nothing."""
        self._given_up.append(structure)
        rest = {n: self.config.weights[n] for n in self._requested if n not in self._given_up}
        if not rest and self.kept.total():
            self.quota = {name: self.kept[name] for name in self._requested}
            return
        if not rest:
            made = "; ".join(
                f"{n}: {self.kept[n]} of {self._requested[n]}" for n in self._requested
            )
            raise UserError(
                f"{made} made, none in the last {self.config.max_attempts} attempts (dropped.jsonl "
                "has the reasons): ask for fewer, or take a larger graph"
            )
        kept = {name: self.kept[name] for name in self._given_up}
        more = quotas(rest, self.total - sum(kept.values()) - sum(self._requested[n] for n in rest))
        shared = {n: max(self.kept[n], self._requested[n] + more.get(n, 0)) for n in rest}
        self.quota = {name: (kept | shared)[name] for name in self._requested}

    @property
    def card(self) -> dict[str, Any]:
        gave_way: dict[str, dict[str, int]] = {}
        for stream, made in sorted(self._made.items()):
            structure, step, _ = parse_stream(stream)
            if step and made:
                ways = gave_way.setdefault(structure, {})
                ways[STEP_NAMES[step]] = ways.get(STEP_NAMES[step], 0) + made
        found = {"plausibility_gave_way": gave_way} if gave_way else {}
        return {**too_few(self._requested, self.kept), **found}

    def judge(self, structure: str, unit: Unit) -> Unit:
        """Return the attempt, dropped when an earlier one is the same question, or filled the share
        of its path or of a relation. What rules out a walk comes before what its question met."""
        found = dict(unit)
        self._reason = found.get(DROPPED, {}).get("reason", "")
        if (walk := found.get(WALKS)) is None:
            return unit
        drop = self._drop(structure, walk, found)
        if drop is None:
            return unit
        self._reason = drop.reason
        return [*([] if self._bare else unit[:1]), (DROPPED, drop.to_json(unit_of(walk)))]

    def _drop(
        self, stream: str, walk: Mapping[str, Any], found: Mapping[str, dict[str, Any]]
    ) -> Drop | None:
        """Return why an attempt is dropped that gave a walk; one that is kept is remembered."""
        if self._checked and self._checked[0] == unit_of(walk):
            _, query, path, reason = self._checked
        else:
            query, path = query_of(walk)
            reason = self._rival(stream, query, path)
        if reason:
            return Drop("certificate", reason)
        if DROPPED in found:
            return None
        record = found.get(QUESTIONS) or walk
        if self._exclude:
            reason, by = self._exclude.holds(record)
            if reason:
                return Drop(self._exclude.stage, reason, by)
        if self._distinct.holds_text(record):
            return Drop("certificate", "duplicate")
        self._remember(record, query, path)  # the question's query is its walk's
        return None

    def ruled_out(self, sampled: SampledWalk) -> str:
        """Return why nothing comes of the walk, whatever its question is."""
        query, path = sampled.walk.query, sampled.path
        reason = self._rival(sampled.id.rpartition("/")[0], query, path)
        self._checked = sampled.id, query, path, reason
        return reason

    def count(self, structure: str, kept: bool) -> None:
        self._order.add(structure, self.tried[structure], "" if kept else self._reason)
        super().count(structure, kept)
        self._made[structure] += kept

    def _rival(self, stream: str, query: Query, path: tuple[str, ...]) -> str:
        """Return why a walk duplicates or over-represents earlier records, else `""`."""
        structure, step, _ = parse_stream(stream)
        if self._distinct.holds_query(query):
            return "duplicate"
        if self._paths[structure, *path] >= self._path_limit(structure):
            return "path_share"
        full = any(
            self._relations[structure, key]
            >= self._relation_limit(structure, step, self.quota, key)
            for key in self._keys(query)
        )
        return RELATION_SHARE if full else ""

    def _keys(self, query: Query) -> tuple[str, ...]:
        """Return what is counted of a query: its hops where a file gives shares, else relations."""
        return self._shares.names_of(query) if self._shares else query.relations

    def _avoided_relations(self, stream: str) -> frozenset[str]:
        """Return the relations that have their share by now; for a stream that avoids them."""
        structure, step, level = parse_stream(stream)
        if not level:
            return frozenset()
        # By the quota that was asked for: a later one would not be known to a resumed run.
        return frozenset(
            key
            for (of, key), uses in self._relations.items()
            if of == structure
            and uses >= self._relation_limit(structure, step, self._requested, key)
        )

    def _path_limit(self, structure: str) -> int:
        return max(1, int(self.config.max_path_share * self.quota[structure]))

    def _relation_limit(
        self, structure: str, step: int, quota: Mapping[str, int], key: str
    ) -> float:
        """Give way with the rule of plausibility: a graph of few relations has no others."""
        share = self.config.max_relation_share * LOOSER**step
        last = self._steps > 1 and step == self._steps - 1
        if last or (share >= 1 and not self._shares):
            return float("inf")
        lengths, tail = STRUCTURES.get(structure, ((1,), 0))
        uses = quota[structure] * (sum(lengths) + tail)
        if self._shares:
            return self._shares.quotas(uses).get(key, 0) * LOOSER**step
        return max(FEW_USES, int(share * uses))

    def _remember(self, record: Mapping[str, Any], query: Query, path: tuple[str, ...]) -> None:
        self._distinct.add(record, query)
        if self.config.max_path_share < 1:  # else nothing is ruled out, and paths are many
            self._paths[record["structure"], *path] += 1
        self._relations.update((record["structure"], key) for key in self._keys(query))
