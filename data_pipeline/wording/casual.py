"""Casual words: how people ask in words of their own, which no demonstration has."""

import random
from dataclasses import replace

from data_pipeline.wording.lexicon import Entry, Lexicon
from graphwalker.query.query import Query


def in_casual_words(
    lexicon: Lexicon, query: Query, share: float, rng: random.Random
) -> Lexicon | None:
    """The lexicon with about `share` of the query's hops in casual words alone, one hop at least;
    `None` where no hop has any."""
    walked = [*(hop for branch in query.branches for hop in branch.hops), *query.tail]
    able = [hop for hop in dict.fromkeys(walked) if lexicon.entry(hop).casual_phrases]
    if not able:
        return None
    chosen = [hop for hop in able if rng.random() < share] or [rng.choice(able)]
    entries = {hop: _casual(lexicon.entry(hop)) for hop in chosen}
    return replace(lexicon, entries={**lexicon.entries, **entries})


def _casual(entry: Entry) -> Entry:
    phrases, clauses = entry.casual_phrases, entry.casual_clauses
    return replace(entry, phrases=phrases, clauses=clauses, questions=(), casual=())
