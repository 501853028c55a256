"""Held-out splits: which questions test unseen entities, which unseen relation paths."""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from data_pipeline.config import SplitConfig
from data_pipeline.wording.paraphrases import share_of
from graphwalker.errors import UserError
from graphwalker.query.query import Hop, Query
from graphwalker.question import Question

Inverse = Callable[[Hop], Hop | None]
"""The same fact stored the other way round, where the graph has that."""

TRAIN, TEST_ENTITY, TEST_PATH = "train", "test-entity", "test-path"
TEST_WORDING = "test-wording"
"""Topics as in `test-entity`, in held-out wordings."""


class Splits:
    """Hash-based, so that every machine and every run holds out the same entities and paths."""

    def __init__(self, config: SplitConfig, inverse: Inverse | None = None) -> None:
        self.config = config
        self._inverse = inverse or (lambda hop: None)
        self._spell = cache(self._spell_hop)
        # Walks of one kind share their paths, and hubs are drawn again and again.
        self._share = lru_cache(1 << 16)(share_of)

    def entity_held_out(self, entity_id: str) -> bool:
        return self._share(f"{self.config.seed}/entity/{entity_id}") < self.config.entity_share

    def path_held_out(self, query: Query) -> bool:
        """Return whether its composition is held out; of a question of one hop, its topic with that
        relation: without the relation itself an agent could not learn to ask for it."""
        topics = [query.branches[0].topic.id] if _is_one_hop(query) else []
        key = " & ".join((*topics, *self.path(query)))
        return self._share(f"{self.config.seed}/path/{key}") < self.config.path_share

    def path(self, query: Query) -> tuple[str, ...]:
        """Return the relation path, with one spelling for a relation and its inverse: a held-out
        path must not be trained on under the other spelling."""
        return query.path_in(self._spell)

    def _spell_hop(self, hop: Hop) -> str:
        return str(min(hop, self._inverse(hop) or hop))

    def of(self, query: Query) -> str:
        """Return the split of a query; `""` for a mix that neither trains nor tests."""
        held_out = [self.entity_held_out(topic.id) for topic in query.topics]
        if all(held_out):
            return TEST_PATH if self.path_held_out(query) else TEST_ENTITY
        return "" if any(held_out) or self.path_held_out(query) else TRAIN


def check_leakage(train: Iterable[Question], test: Iterable[Question]) -> dict[str, int]:
    """Count what test questions share with training: topics, texts, for `test-path` relation paths.
    Raises `UserError` that names what is shared."""
    topics: set[str] = set()
    texts: set[str] = set()
    paths: set[tuple[str, ...]] = set()
    """Of one-hop questions with their topic."""
    for question in train:
        topics.update(entity.id for entity in question.topic_entities)
        texts.add(question.text.casefold())
        paths.add(_path(question))
    found = {"questions": 0, "shared_topics": 0, "shared_texts": 0, "shared_paths": 0}
    for question in test:
        found["questions"] += 1
        found["shared_topics"] += any(entity.id in topics for entity in question.topic_entities)
        found["shared_texts"] += question.text.casefold() in texts
        found["shared_paths"] += question.split == TEST_PATH and _path(question) in paths
    shared = {name: n for name, n in found.items() if name.startswith("shared") and n}
    if shared:
        raise UserError(
            f"test questions leak into training ({shared}): make both sets with the same "
            "splits.seed, splits.entity_share and splits.path_share"
        )
    return found


def _is_one_hop(query: Query) -> bool:
    return query.hops == 1 == len(query.branches) and not query.constraint


def _path(question: Question) -> tuple[str, ...]:
    """Tell what `test-path` questions do not share with training: as in `Splits.path_held_out`."""
    own = question.query.path if question.query else ("",)
    query = question.query
    topics = [query.branches[0].topic.id] if query and _is_one_hop(query) else []
    return (*topics, *(question.relation_path or own))
