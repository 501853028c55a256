"""Planted faults: questions spoiled in six ways, to measure what a filter catches."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from data_pipeline.wording.composition.questions import ProgrammaticTeacher
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.query.query import Query, execute
from graphwalker.question import Question
from graphwalker.tools.listing import Lister

_ARTICLES = re.compile(r"\b(?:the|an?) ", re.IGNORECASE)
_SLOT = "\0{}\0"


class Faults:
    """Spoils questions of one graph. Each method gives the spoiled text, `""` where it cannot."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        listed: Lister,
        teacher: ProgrammaticTeacher,
        questions: Sequence[Question],
    ) -> None:
        """`questions` are those that words and topic entities are taken from."""
        self._graph, self._listed, self._teacher = graph, listed, teacher
        self._questions = questions

    @property
    def kinds(self) -> dict[str, Callable[[Question, random.Random], str]]:
        return {
            "articles removed": self.without_articles,
            "words shuffled": self.shuffled,
            "a hop left out": self.without_a_hop,
            "off topic": self.off_topic,
            "another hop's words": self.with_another_hop,
            "wrong topic": self.of_another_topic,
        }

    def plant(
        self, kind: str, count: int, rng: random.Random
    ) -> Iterator[tuple[Question, Question]]:
        """`count` questions that can be spoiled so, each with the spoiled one."""
        spoil, found = self.kinds[kind], 0
        for question in rng.sample(self._questions, len(self._questions)):
            text = spoil(question, rng)
            if text and text != question.text:
                yield question, replace(question, text=text)
                found += 1
                if found == count:
                    return

    def without_articles(self, question: Question, rng: random.Random) -> str:
        """No "the", no "a"; names keep theirs."""
        text, names = _masked(question)
        return _unmasked(_ARTICLES.sub("", text), names)

    def shuffled(self, question: Question, rng: random.Random) -> str:
        """The words in any order, a name being one of them; the mark at the end stays."""
        text, names = _masked(question)
        body = text.rstrip("?.")
        words = body.split()
        return _unmasked(" ".join(rng.sample(words, len(words))) + text[len(body) :], names)

    def without_a_hop(self, question: Question, rng: random.Random) -> str:
        """Another question: the walk without one of its hops."""
        shorter = list(_shorter(_query(question)))
        return self._worded(rng.choice(shorter), rng) if shorter else ""

    def with_another_hop(self, question: Question, rng: random.Random) -> str:
        """Another question: one hop is another relation of the entity that it is taken from."""
        query = _query(question)
        b = rng.randrange(len(query.branches))
        branch = query.branches[b]
        k = rng.randrange(len(branch.hops))
        run = execute(self._graph, query)
        listing = self._listed(run.frontiers[b][k][0].id)
        readings = question.wording.readings[b][k] if question.wording else ()
        known = {branch.hops[k], *readings}
        others = [hop for hop in listing.hops(listing.relations) if hop not in known]
        for hop in rng.sample(others, len(others)):
            hops = (*branch.hops[:k], hop, *branch.hops[k + 1 :])
            branches = (*query.branches[:b], replace(branch, hops=hops), *query.branches[b + 1 :])
            other = replace(query, branches=branches)
            # Where the answers are the same, the other hop may be another name of this one.
            if execute(self._graph, other).answers != run.answers:
                return self._worded(other, rng)
        return ""

    def off_topic(self, question: Question, rng: random.Random) -> str:
        """What another question asks, of this one's topic entities."""
        other = rng.choice(self._questions)
        text, names = _masked(other)
        mine = [topic.name for topic in _query(question).topics]
        if len(mine) != len(names) or set(_relations(other)) & set(_relations(question)):
            return ""
        return _unmasked(text, mine)

    def of_another_topic(self, question: Question, rng: random.Random) -> str:
        """The same of other entities."""
        text, names = _masked(question)
        others = [topic.name for topic in _query(rng.choice(self._questions)).topics]
        if len(others) < len(names) or set(names) & set(others):
            return ""
        return _unmasked(text, others)

    def _worded(self, query: Query, rng: random.Random) -> str:
        draft = self._teacher.ask(query, (), rng)
        return draft.text if draft else ""


def _query(question: Question) -> Query:
    assert question.query is not None
    return question.query


def _relations(question: Question) -> list[str]:
    return _query(question).hop_relations


def _masked(question: Question) -> tuple[str, list[str]]:
    """The text with a mark for each topic entity's name, and the names."""
    names = [topic.name for topic in _query(question).topics]
    text = question.text
    for number in sorted(range(len(names)), key=lambda n: -len(names[n])):
        mark = _SLOT.format(number)
        text = re.sub(re.escape(names[number]), mark, text, flags=re.IGNORECASE)
    return text, names


def _unmasked(text: str, names: Sequence[str]) -> str:
    for number, name in enumerate(names):
        text = text.replace(_SLOT.format(number), name)
    return text[:1].upper() + text[1:]


def _shorter(query: Query) -> Iterator[Query]:
    """The query without one hop, or without one of its branches."""
    for b, branch in enumerate(query.branches):
        before, after = query.branches[:b], query.branches[b + 1 :]
        for k in range(len(branch.hops) if len(branch.hops) > 1 else 0):
            less = replace(branch, hops=branch.hops[:k] + branch.hops[k + 1 :])
            yield replace(query, branches=(*before, less, *after))
        if len(branch.hops) == 1 and len(query.branches) > 1:
            yield replace(query, branches=(*before, *after))
    for k in range(len(query.tail)):
        yield replace(query, tail=query.tail[:k] + query.tail[k + 1 :])
