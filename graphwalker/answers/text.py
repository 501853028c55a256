"""A text: an answer in words, right where it says one of the accepted texts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from graphwalker.answers.measures import measures, nothing
from graphwalker.graphs.names import fold


@dataclass(frozen=True, slots=True)
class Text:
    """`em`: equal to one of the accepted texts, case and space aside; the other measures compare
    words with those of the accepted text that is nearest.

    >>> Text("in the north", ("the north",)).compare(["The  north"])["em"]
    1.0
    """

    kind: ClassVar[str] = "text"
    text: str
    others: tuple[str, ...] = ()

    def texts(self) -> tuple[str, ...]:
        return (self.text,)

    def compare(self, given: Sequence[str] | None) -> dict[str, float]:
        if given is None:
            return nothing()
        words = fold("\n".join(given))
        scores = [_words(words, fold(text)) for text in (self.text, *self.others)]
        best = max(scores, key=lambda found: (found["em"], found["f1"]))
        return {**best, "hits1": best["em"]}

    def shown(self, observations: Sequence[str]) -> tuple[bool, bool]:
        seen = fold("\n".join(observations))
        found = any(fold(text) in seen for text in (self.text, *self.others))
        return found, found

    def grounded(self, given: Sequence[str] | None, observations: Sequence[str]) -> bool:
        return bool(given) and fold("\n".join(given)) in fold("\n".join(observations))

    def to_json(self) -> dict[str, Any]:
        record: dict[str, Any] = {"kind": self.kind, "text": self.text}
        return {**record, "others": list(self.others)} if self.others else record

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> "Text":
        return cls(str(record["text"]), tuple(map(str, record.get("others", ()))))


def _words(words: str, gold: str) -> dict[str, float]:
    given, wanted = Counter(words.split()), Counter(gold.split())
    scores = measures((given & wanted).total(), given.total(), wanted.total(), False)
    return {**scores, "em": float(words == gold)}
