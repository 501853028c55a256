"""Frames mined from questions with gold paths: how people have asked for each hop."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_pipeline.config import PhrasesConfig
from data_pipeline.wording.vocabulary import lexicon_of, relation_block, words_of_lexicon
from graphwalker.datasets.base import Reading, load_dataset
from graphwalker.datasets.grounding import ground
from graphwalker.datasets.queries import EXECUTED, NO_QUERY, gold_path, resolve_one
from graphwalker.errors import UserError
from graphwalker.files import digest, write_text
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.query.query import Hop
from graphwalker.question import Question

OWN_SHARE = 0.3
"""A frame belongs to the hops that make up at least this share of its uses: a question that was
once asked for another relation does not make it ambiguous."""
TOPICS = 2
"""A word that no phrase of the graph's lexicon has must be asked with this many topics: others are
mostly the rest of a name."""


MINED_HEAD = """\
# Questions that people have asked, one hop each, with {{x}} for what they start at: mend
# what reads badly, and give the file as phrases_file=FILE. `out` finds what the relation leads to,
# `in` starts there; `out_counts` says how often each was asked. Mined from:
{sources}
"""


@dataclass(slots=True)
class Mined:
    """Frames by hop with their counts, and what became of the questions."""

    frames: dict[Hop, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    sources: list[dict[str, str | int]] = field(default_factory=list[dict[str, str | int]])
    counts: Counter[str] = field(default_factory=Counter[str])
    """Questions by `used`, or by the reason for which they are not."""


def from_questions(
    graph: KnowledgeGraph, out: Path, files: Sequence[Path], settings: PhrasesConfig
) -> dict[str, Any]:
    """Write how questions of training files ask. Raises `UserError` for test questions."""
    found = mine(files, graph, words_of_lexicon(lexicon_of(graph)))
    write_text(out, frames_text(found, settings.least))
    used = found.counts.pop("used")
    frames = sum(map(len, found.frames.values()))
    facts = {"questions": used + found.counts.total(), "used": used, "frames": frames}
    return {**facts, "hops": len(found.frames), "not used": dict(found.counts), "written": str(out)}


def frames_text(mined: Mined, least: int = 1) -> str:
    """Return the file of mined frames, without those that were asked fewer than `least` times."""
    lines = [
        f"# {row['file']}: {row['used']} of {row['questions']} questions ({row['digest']})"
        for row in mined.sources
    ]
    blocks = [MINED_HEAD.format(sources="\n".join(lines))]
    values: dict[str, list[tuple[str, str]]] = {}
    for hop, counts in sorted(mined.frames.items()):
        most_first = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        frames = [(frame, count) for frame, count in most_first if count >= least]
        texts = "".join(f"  {json.dumps(text, ensure_ascii=False)},\n" for text, _ in frames)
        if frames:
            rows = values.setdefault(hop.relation, [])
            rows.append((f"{hop.direction}_casual", f"[\n{texts}]"))
            rows.append((f"{hop.direction}_counts", str([count for _, count in frames])))
    blocks += [relation_block(relation, rows) for relation, rows in values.items()]
    return "\n".join(blocks)


def mine(files: Sequence[Path], graph: KnowledgeGraph, known: Iterable[str]) -> Mined:
    """The frames of files of training questions. `known`: words that are no names.

    A question is used that has one hop, which is found on the graph and leads to a gold answer.
    Raises `UserError` for a file of test questions.
    """
    found, words = Mined(), _Words(graph, frozenset(known))
    for file in files:
        loaded = load_dataset(file, Reading(unanswered="keep"))
        _must_not_be_test(file, loaded.questions)
        before = found.counts["used"]
        for question in ground(loaded.questions, graph):
            found.counts[_use(question, graph, found, words)] += 1
        used = found.counts["used"] - before
        row: dict[str, str | int] = {"file": file.name, "digest": digest(file)}
        found.sources.append({**row, "questions": len(loaded.questions), "used": used})
    if not found.counts["used"]:
        raise UserError(f"{files[0]}: no question of one hop whose path is on this graph")
    found.frames = _own(found.frames, words)
    return found


def _must_not_be_test(file: Path, questions: Sequence[Question]) -> None:
    if any(question.split.lower().startswith("test") for question in questions):
        raise UserError(f"{file}: holds test questions; phrases are mined from training questions")


class _Words:
    """Which words of a frame are words of the language."""

    def __init__(self, graph: KnowledgeGraph, known: frozenset[str]) -> None:
        self._graph, self._known = graph, known
        self._topics: dict[str, set[str]] = defaultdict(set)

    def count(self, frame: str, topic: Entity) -> None:
        for word in _words(frame):
            self._topics[word].add(topic.id)

    def are_no_names(self, frame: str) -> bool:
        return all(word in self._known or self._is_word(word) for word in _words(frame))

    def _is_word(self, word: str) -> bool:
        named = self._graph.resolve(word.title()) or self._graph.resolve(word.upper())
        return len(self._topics[word]) >= TOPICS and not named


def _words(frame: str) -> list[str]:
    return frame.replace("{x}", " ").replace("'", " ").split()


def _use(question: Question, graph: KnowledgeGraph, found: Mined, words: _Words) -> str:
    """Count its frame; `used`, or why not."""
    found_hop = _topic_and_hop(question, graph)
    if isinstance(found_hop, str):
        return found_hop
    topic, hop = found_hop
    frame = frame_of(question.text, dict.fromkeys((topic.name, graph.name(topic.id))))
    if not frame:
        return "topic_not_found_in_text"
    words.count(frame, topic)
    found.frames[hop][frame] += 1
    return "used"


def _topic_and_hop(question: Question, graph: KnowledgeGraph) -> tuple[Entity, Hop] | str:
    """The topic and the hop that a question asks for, or why it has none."""
    resolved = resolve_one(question, graph)
    query = resolved.query
    if query is None:
        fact = _fact(question, graph)
        return fact or str(resolved.annotations.get(NO_QUERY))
    if resolved.annotations[EXECUTED] == "disjoint":
        return "other_answers"
    if query.hops != 1 or query.constraint:
        return "more_than_one_hop"
    return query.branches[0].topic, query.branches[0].hops[0]


def _fact(question: Question, graph: KnowledgeGraph) -> tuple[Entity, Hop] | None:
    """Of a question for one fact of SimpleQuestions, which says its direction: what it asks, though
    the graph lacks that fact."""
    path = gold_path(question)
    if question.dataset != "simplequestions" or len(path) != 1:
        return None
    topic = question.topic_entities[0]
    there = path[0] in graph.relation_ids() and graph.name(topic.id)
    return (topic, Hop(path[0])) if there else None


def _own(frames: dict[Hop, Counter[str]], words: _Words) -> dict[Hop, Counter[str]]:
    uses: Counter[str] = Counter()
    for counts in frames.values():
        uses.update(counts)

    def is_own(frame: str, count: int) -> bool:
        return count >= OWN_SHARE * uses[frame] and words.are_no_names(frame)

    own = {
        hop: Counter({frame: n for frame, n in counts.items() if is_own(frame, n)})
        for hop, counts in sorted(frames.items())
    }
    return {hop: counts for hop, counts in own.items() if counts}


LONGEST = 16
"""Words of a frame."""
SLOT = "{x}"
_WORD = re.compile(r"[^\W_]+")
_LITTLE = frozenset(
    ("the", "of", "a", "an", "in", "and", "to", "for", "s", "on", "at", "by", "de", "is", "was")
)


def frame_of(question: str, names: Iterable[str]) -> str:
    """The question in lower case with `{x}` for the topic, or `""` where its name is not found or
    too little is left.

    A name counts as found when at least half of its words that say something stand together.

    >>> frame_of("Who does Joakim Noah play for?", ["Joakim Noah"])
    'who does {x} play for'
    >>> frame_of("what time is it in the us?", ["United States of America"])
    ''
    """
    text = question.lower().replace("’", "'").strip()
    found = max((_span(text, name.lower()) for name in names), key=_length, default=None)
    if found is None:
        return ""
    frame = f"{text[: found[0]]}{SLOT}{text[found[1] :]}"
    frame = re.sub(r"\s+", " ", re.sub(r"\s+'s\b", "'s", frame)).rstrip(" ?.!,")
    words = frame.split()
    plain = frame.replace(SLOT, "").replace("'", " ")
    if not 2 <= len(words) <= LONGEST or not all(w.isalpha() for w in plain.split()):
        return ""
    return frame if frame.isascii() else ""


def _length(span: tuple[int, int] | None) -> int:
    return span[1] - span[0] if span else 0


def _span(text: str, name: str) -> tuple[int, int] | None:
    """Where the name, or most of it, stands: from and to, in letters."""
    at = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) if name.strip() else None
    if at:
        return at.span()
    wanted = set(_WORD.findall(re.sub(r"\(.*?\)", "", name)))
    telling = wanted - _LITTLE
    best: tuple[int, int] | None = None
    run: list[re.Match[str]] = []
    for word in [*_WORD.finditer(text), None]:
        if word is not None and word[0] in wanted:
            run.append(word)
            continue
        while run and run[-1][0] in _LITTLE:
            run.pop()
        while run and run[0][0] in _LITTLE and run[0][0] not in name.split()[:1]:
            run.pop(0)
        common = {match[0] for match in run} & telling
        if common and 2 * len(common) >= len(telling):
            best = max(best, (run[0].start(), run[-1].end()), key=_length)
        run = []
    return best
