"""What a chain costs at its chat servers: requests counted from its questions and its data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from graphwalker.datasets.catalogue import CATALOGUE
from graphwalker.doctor.diagnosis import Diagnosis, note
from graphwalker.errors import UserError
from graphwalker.jobs.sections import ChainSection

EPISODE = (5_000, 600)
"""Tokens that an episode sends to a chat server and gets back."""
REQUEST = (1_000, 150)
"""The same of one request of a teacher: a wording, a score or a thought."""
MOST_TRIES = 3
"""Tries of a record or a trajectory that is kept, at most; at least it is one."""
TURNS = 5
"""Thoughts of a record where each is asked for."""
OF_TOG = "simpleqa", "grailqa", "qald10en"
"""Files that are samples of a data set, as ToG names them."""
KINDS_OF_QUESTIONS = 12
"""Questions of each graph of `graphwalker graph synthetic`."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one section costs, from `least` to `most`, and of what; `None`: not known."""

    section: str
    least: float | None
    most: float | None
    how: str


def estimate_money(sections: Sequence[ChainSection]) -> Iterator[Diagnosis]:
    """Yield what the chain costs at the prices of its config; nothing where it has none."""
    costs, caps, made = list[Cost](), set[float](), dict[str, tuple[int, str]]()
    for section in sections:
        costs += _costs(section, made)
        caps |= {float(p.get("max_cost") or 0) for _, p in _priced(section.settings)}
        if number := _number_made(section):
            made[section.out] = number
    if not costs:
        return
    how = "; ".join(f"{cost.section}: {cost.how}" for cost in costs)
    cap = max(caps)
    limit = f"a stage stops at {cap:g} (prices.max_cost)" if cap else "no stage has a cap"
    least, most = [cost.least for cost in costs], [cost.most for cost in costs]
    if None in least or None in most:
        yield note("money", f"money unknown ({how}); {limit}")
        return
    low, high = sum(cast("list[float]", least)), sum(cast("list[float]", most))
    amount = " to ".join(dict.fromkeys((_shown(low), _shown(high))))
    tokens = f"{EPISODE[0]:,} tokens sent and {EPISODE[1]:,} written an episode"
    yield note("money", f"money about {amount} at the config's prices, {tokens}; {limit} ({how})")


def _shown(amount: float) -> str:
    return f"{amount:,.0f}" if amount >= 1 else f"{amount:.2g}"


def _costs(section: ChainSection, made: Mapping[str, tuple[int, str]]) -> Iterator[Cost]:
    settings, name = section.settings, section.name
    for chat, prices in _priced(settings):
        if chat == "teacher":
            records = int(settings.get("count") or 0)
            thoughts = TURNS if settings["teacher"].get("thoughts") == "each" else 0
            least = _price(prices, records * (2 + thoughts), REQUEST)  # a wording and a score
            how = f"{records:,} records of 1 to {MOST_TRIES} tries, each worded and scored"
            yield Cost(name, least, least * MOST_TRIES, how + ", with thoughts" * bool(thoughts))
        elif section.kind == "experts":
            records = int(settings.get("count") or 0)
            least = _price(prices, records, EPISODE)
            how = f"{records:,} trajectories of 1 to {MOST_TRIES} tries"
            yield Cost(name, least, least * MOST_TRIES, how)
        else:
            number, source = _count(settings, made)
            runs = 1 + int(settings.get("samples") or 0)
            price = None if number is None else _price(prices, number * runs, EPISODE)
            how = source if number is None else f"{number:,} questions ({source}) x {runs}"
            yield Cost(name, price, price, how)


def _priced(settings: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the chat servers of a section that cost money: its teacher, and what answers."""
    policy: Mapping[str, Any] = settings.get("policy") or {}
    for name, chat in (("teacher", settings.get("teacher")), ("policy", policy.get("api"))):
        if chat and chat.get("base_url") and chat.get("prices"):
            yield name, chat["prices"]


def _price(prices: Mapping[str, Any], requests: int, tokens: tuple[int, int]) -> float:
    rates = [float(prices.get(f"{kind}_per_million") or 0) for kind in ("prompt", "completion")]
    return requests * (tokens[0] * rates[0] + tokens[1] * rates[1]) / 1e6


def _count(
    settings: Mapping[str, Any], made: Mapping[str, tuple[int, str]]
) -> tuple[int | None, str]:
    """Return how many questions a section asks, and by what that is known."""
    given: Any = settings.get("questions") or ()
    total, sources = 0, list[str]()
    for file in (given,) if isinstance(given, str) else given:
        number, source = _questions_in(str(file), str(settings.get("questions_format") or ""), made)
        if number is None:
            return None, source
        total, sources = total + number, [*sources, source]
    limit = int(settings.get("limit") or 0)
    return min(total, limit) if limit else total, ", ".join(dict.fromkeys(sources))


def _questions_in(
    file: str, form: str, made: Mapping[str, tuple[int, str]]
) -> tuple[int | None, str]:
    from graphwalker.datasets.base import Reading, load_dataset

    if Path(file).is_file():
        try:
            reading = Reading(form or "auto", unanswered="keep")
            return len(load_dataset(file, reading).questions), "counted"
        except UserError:
            return None, f"{file} cannot be read"
    for out, number in made.items():
        if file.startswith(f"{out}/"):
            return number
    published = _published(Path(file).stem, form)
    return published or (None, f"{file} is not there, and has no published number")


def _published(stem: str, form: str) -> tuple[int, str] | None:
    """Return the published number of a file's questions: of its part of the data set, of the sample
    that ToG published under this name, else of the test split, of the dev split, of any."""
    name = "".join(filter(str.isalnum, stem.lower()))
    for one in CATALOGUE:
        if not one.sizes or (one.name != form and one.name not in name):
            continue
        parts = [size for size in one.sizes if size.part.split(" ")[0].lower() == name]
        sampled = [s for s in one.sizes if name in OF_TOG and s.part.endswith("by ToG")]
        splits = [s for kind in ("test", "dev", "") for s in one.sizes if s.split == kind]
        found = [*parts, *sampled, *(size for size in splits if not size.part), *one.sizes][0]
        return found.count, f"published: {one.title}, {found.part or found.split}".rstrip(", ")
    return None


def _number_made(section: ChainSection) -> tuple[int, str] | None:
    """Return how many questions a section makes, where its settings say it."""
    words: list[str] = [str(word) for word in section.settings.get("command") or ()]
    if section.kind in ("synth", "questions", "bench") and section.settings.get("count"):
        return int(section.settings["count"]), f"made by {section.name}"
    values = dict(pairwise(words))
    if words[:2] == ["graph", "mazes"]:
        return int(values.get("--count", 0)), f"made by {section.name}"
    if words[:2] == ["graph", "synthetic"]:
        return int(values.get("--graphs", 0)) * KINDS_OF_QUESTIONS, f"made by {section.name}"
    if words[:2] == ["dataset", "evidence"]:
        sizes = next(one.sizes for one in CATALOGUE if one.name == "colota")
        return next((s.count, f"published, {s.part}") for s in sizes if "ARK" in s.part)
    return None
