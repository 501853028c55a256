"""What an agent always writes in the same way, as single tokens for a tiny model."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from graphwalker.trajectory import Trajectory
from training.models.tiny import REFERENCE

_WORD = re.compile(r"\w+(?:\.+\w+)*")
"""A word or a relation id."""
LEAST_SHARE = 0.03
"""Of the trajectories, that a phrase or a reference stands in: a rare token is learned slowly."""


def frequent_phrases(trajectories: Iterable[Trajectory], count: int) -> list[str]:
    """Up to `count` texts that stand between what a turn chooses, those that save the most tokens.

    What a turn chooses are the words of its question, relation ids, numbers and references such as
    `#1`; what is left (`, this fits. </think>...get_triples("`) is always the same, and a token for
    each of its words is a decision without a choice, paid for in training and in every rollout.
    References are single tokens, too. (Tokens beyond white space: Liu et al. 2025, "SuperBPE".)
    """
    seen, references = Counter[str](), Counter[str]()
    trajectories = list(trajectories)
    for trajectory in trajectories:
        chosen = {word.casefold() for word in _WORD.findall(trajectory.question.text)}
        completions = [turn.completion for turn in trajectory.turns]
        seen.update({one for text in completions for one in _unchosen(text, chosen)})
        references.update({one for text in completions for one in REFERENCE.findall(text)})
    least = LEAST_SHARE * len(trajectories)
    kept: list[str] = []
    for text in sorted(filter(_fits, seen), key=lambda text: (len(text), text)):
        if seen[text] >= least and not any(_adds_a_word(text, one) for one in kept):
            kept.append(text)
    kept.sort(key=lambda text: (-seen[text] * _tokens(text), text))
    return [*kept[:count], *sorted(one for one, times in references.items() if times >= least)]


def _unchosen(text: str, chosen: set[str]) -> Iterator[str]:
    """The stretches of a turn between the words that it chose."""
    start = 0
    for found in re.finditer(rf"{REFERENCE.pattern}|{_WORD.pattern}", text):
        word = found[0]
        if word[0] == "#" or word.isdigit() or "." in word or word.casefold() in chosen:
            yield text[start : found.start()]
            start = found.end()
    yield text[start:]


def _adds_a_word(text: str, known: str) -> bool:
    """Whether a text is a known one with a word or less before it or behind it. The same choice
    would have two tokens then."""
    if known == text or not (text.startswith(known) or text.endswith(known)):
        return False
    rest = text[len(known) :] if text.startswith(known) else text[: -len(known)]
    return len(_WORD.findall(rest)) <= 1


def _fits(text: str) -> bool:
    """A token of its own takes no space beside it, so it begins and ends outside of words, and
    holds white space, by which the decoder knows it (`training/models/tiny.py`)."""
    inside = re.search(r"\w", text) and re.search(r"\s", text)
    return bool(inside) and not re.search(r"\w", text[:1] + text[-1:])


def _tokens(text: str) -> int:
    """About so many tokens without this one."""
    return len(re.findall(r"\w+|[^\w\s]+", text))
