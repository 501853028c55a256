"""Plain words: each hop by one phrase, its plainest, whatever words a question has for it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from data_pipeline.wording.lexicon import Lexicon
from graphwalker.query.draft import Draft
from graphwalker.query.query import Hop

Rewording = Callable[[Draft], Draft]


def plain_words(lexicon: Lexicon) -> Rewording:
    """What thoughts are made of, so that an agent says in known words what it reads in others. A
    phrase that may mean several relations stays: nobody knows yet which one it is."""

    def phrase(worded: str, readings: Sequence[Hop]) -> str:
        plainest = {
            next((p.text for p in lexicon.phrases(hop) if not p.vague), worded) for hop in readings
        }
        return plainest.pop() if len(plainest) == 1 else worded

    def phrases(worded: Sequence[str], readings: Sequence[Sequence[Hop]]) -> tuple[str, ...]:
        return tuple(map(phrase, worded, readings))

    def put(draft: Draft) -> Draft:
        return replace(
            draft,
            phrases=tuple(map(phrases, draft.phrases, draft.readings)),
            tail_phrases=phrases(draft.tail_phrases, draft.tail_readings),
        )

    return put
