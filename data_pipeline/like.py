"""Walks like a benchmark's questions: what `like=FILE` sets, read off its training questions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_pipeline.config import SynthConfig
from data_pipeline.jobs.distinct import query_of
from data_pipeline.seeds.files import PREDICATES, SEEDS
from data_pipeline.seeds.seeds import lines_of
from data_pipeline.seeds.shares import HopShares, read_shares, write_shares
from data_pipeline.walks.sampler import STRUCTURES
from data_pipeline.wording.vocabulary import lexicon_of
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground
from graphwalker.datasets.queries import EXECUTED, resolve_one
from graphwalker.errors import UserError
from graphwalker.files import write_text
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.query.query import Hop, Query, execute
from graphwalker.question import Question
from graphwalker.tools.listing import lister

FOLDER = "like"
"""Where a run folder holds the seeds and the predicates that it took from the file."""
USUAL = 0.95
"""Share of the questions whose number of answers a walk may have."""
TOPICS_PER_RECORD = 4
"""Entities with a hop that are looked for, for each record of it: not each walk gives a question.
Where the file has fewer topics, other entities of the graph join them."""
LOOKED_THROUGH = 6000
"""Entities of the graph, evenly spread, among which those are looked for."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What the questions of a benchmark ask, as far as they have a query on a graph."""

    queries: tuple[Query, ...]
    answers: tuple[int, ...]
    """How many each of them has."""
    frontiers: tuple[int, ...]
    """How many entities its widest step between topic and answer reaches."""

    @property
    def mix(self) -> dict[str, float]:
        """How many of them have each structure that walks have."""
        found = Counter(map(structure_of, self.queries))
        names = [*STRUCTURES, *sorted(found.keys() - STRUCTURES)]
        return {name: float(found[name]) for name in names if name and found[name]}

    @property
    def topics(self) -> list[str]:
        """The entities that their branches start from, the most asked for first."""
        found = Counter(branch.topic.id for query in self.queries for branch in query.branches)
        return [topic for topic, _ in sorted(found.items(), key=lambda item: (-item[1], item[0]))]


def apply_like(config: SynthConfig, graph: KnowledgeGraph, out: Path) -> SynthConfig:
    """Return the config with all that `like` sets and that was not set otherwise; the seeds and the
    predicates lie in a folder below `out`. Raises `UserError` for a file without queries."""
    sets = ("mix", "max_answers", "max_degree", "max_frontier", "seeds_file", "predicates_file")
    open_ones = [name for name in sets if name not in config.model_fields_set]
    if not config.like or not open_ones:
        return config
    profile = read_profile(config.like, graph)
    most_answers = usual_most(profile.answers)
    # A hop between topic and answer leads to as many as any other.
    values: dict[str, Any] = {
        "mix": profile.mix,
        "max_answers": most_answers,
        "max_degree": max(config.max_degree, most_answers),
        "max_frontier": min(
            max(config.max_frontier, usual_most(profile.frontiers)), config.environment.max_turns
        ),
        "seeds_file": str(out / FOLDER / SEEDS),
        "predicates_file": str(out / FOLDER / PREDICATES),
    }
    settled = config.model_copy(update={name: values[name] for name in open_ones})
    shares = shares_of(profile, graph, config.phrases_file)
    (out / FOLDER).mkdir(parents=True, exist_ok=True)
    if "predicates_file" in open_ones:
        write_shares(out / FOLDER / PREDICATES, shares)
    if "seeds_file" in open_ones:
        listed, most = lister(graph, config.environment), settled.max_degree
        wanted = {h: TOPICS_PER_RECORD * n for h, n in shares.quotas(config.count).items()}
        topics = with_others(
            profile.topics, lambda topic: shares.names_at(listed(topic), most), graph, wanted
        )
        write_text(out / FOLDER / SEEDS, "".join(f"{topic}\n" for topic in topics))
    return settled


def read_profile(file: str, graph: KnowledgeGraph) -> Profile:
    """Read what a file's questions ask on this graph. Raises `UserError` where none has a query."""
    questions = ground(load_questions(file), graph)
    if graph.is_remote:
        questions = [resolve_one(question, graph) for question in questions]
    usable = [question for question in questions if _is_usable(question, graph)]
    if not usable:
        raise UserError(
            f"like={file}: none of its {len(questions):,} questions has a query or a relation path "
            "on this graph; give training questions of this graph that state one"
        )
    queries = tuple(question.query for question in usable if question.query)
    answers = tuple(max(1, len(question.answers)) for question in usable)
    return Profile(queries, answers, tuple(_widest(graph, query) for query in queries))


def _is_usable(question: Question, graph: KnowledgeGraph) -> bool:
    query = question.query
    return (
        query is not None
        and question.gold is None  # what the graph does not hold is no walk on it
        and question.annotations.get(EXECUTED) != "disjoint"
        and all(graph.name(topic.id) for topic in query.topics)
    )


def _widest(graph: KnowledgeGraph, query: Query) -> int:
    return 1 if query.hops == 1 else execute(graph, query).widest


def usual_most(counts: Sequence[int]) -> int:
    """Return the most of nearly all questions; of a few, without the one that has most.

    >>> usual_most([1] * 18 + [7, 200]), usual_most([1, 2, 1, 300, 3])
    (7, 3)
    """
    return sorted(counts)[int(USUAL * (len(counts) - 1))]


def structure_of(query: Query) -> str:
    """Return the structure of a walk of this form; `""` where walks have none."""
    if query.constraint:
        return query.constraint.structure
    lengths = tuple(sorted((len(branch.hops) for branch in query.branches), reverse=True))
    if len(lengths) == 1:
        lengths, tail = (lengths[0] + len(query.tail),), 0
    else:
        tail = len(query.tail)
    return next((name for name, form in STRUCTURES.items() if form == (lengths, tail)), "")


def shares_of(profile: Profile, graph: KnowledgeGraph, phrases_file: str = "") -> HopShares:
    """Return how often the questions take each hop, a hop and its inverse counted as one."""
    inverse = lexicon_of(graph, phrases_file).inverse
    uses, inverses = Counter[Hop](), dict[Hop, Hop]()
    for query in profile.queries:
        for hop in query.all_hops:
            other = inverse(hop)
            own = min(hop, other or hop)
            uses[own] += 1
            if other:
                inverses[own] = max(hop, other)
    ordered = sorted(uses.items(), key=lambda item: (-item[1], str(item[0])))
    return HopShares({hop: float(count) for hop, count in ordered}, inverses)


def with_others(
    topics: Sequence[str],
    names_at: Callable[[str], set[str]],
    graph: KnowledgeGraph,
    wanted: Mapping[str, int],
) -> list[str]:
    """Return the topics, and more entities of the graph for each hop that fewer of them have than
    are `wanted`; in id order. `names_at` gives the hops that an entity has."""
    have = Counter(name for topic in topics for name in names_at(topic))
    taken = set(topics)
    for index in range(0, graph.size, max(1, graph.size // LOOKED_THROUGH)):
        entity = graph.entity_at(index).id
        names = names_at(entity) if entity not in taken else set[str]()
        if any(have[name] < wanted[name] for name in names):
            taken.add(entity)
            have.update(names)
    return sorted(taken)


def like_facts(config: SynthConfig, records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what the data card holds of `like`: what it set, and how much of what the file's
    questions ask the records ask, too."""
    if not config.like:
        return {}
    shares = read_shares(config.predicates_file) if config.predicates_file else None
    facts = {
        "file": config.like,
        "share_within_bounds": USUAL,
        "seeds": len(lines_of(config.seeds_file)) if config.seeds_file else 0,
        "mix": config.mix,
        "max_answers": config.max_answers,
        "max_degree": config.max_degree,
        "max_frontier": config.max_frontier,
    }
    covered = shares.coverage(query_of(record)[0] for record in records) if shares else {}
    return {"like": facts | covered}
