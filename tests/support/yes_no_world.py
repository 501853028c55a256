"""200 questions in CoLoTa's published form over an invented world, with its published faults."""

import random
from typing import Any

_SYLLABLES = ("ba", "dor", "ke", "lin", "mo", "nar", "pel", "ri", "sa", "tu", "vel", "zo")
_GENRES = ("novel", "short story", "ode", "satire")
_JOBS = ("singer", "carpenter", "surgeon", "referee")


class _Names:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._used: set[str] = set()

    def new(self, words: int = 2) -> str:
        while True:
            parts = ["".join(self._rng.choices(_SYLLABLES, k=3)).title() for _ in range(words)]
            name = " ".join(parts)
            if name not in self._used:
                self._used.add(name)
                return name


def _town_sizes(names: _Names, rng: random.Random) -> dict[str, Any]:
    a, b = names.new(1), names.new(1)
    sizes = rng.sample(range(10_000, 90_000), 2)
    triples = [f"({t}, population, {n:,})" for t, n in zip((a, b), sizes, strict=True)]
    question = f"Does {a} have more inhabitants than {b}?"
    return {
        "query": question,
        "topics": [a, b],
        "kg_triples": triples,
        "answer": sizes[0] > sizes[1],
    }


def _genre(names: _Names, rng: random.Random) -> dict[str, Any]:
    writer, work = names.new(), names.new()
    genre, wanted = rng.choice(_GENRES), rng.choice(_GENRES)
    triples = [f"({writer}, notable work, {work})", f"({work}, genre, {genre})"]
    question = f"Is {writer}'s best known work a {wanted}?"
    return {"query": question, "topics": [writer], "kg_triples": triples, "answer": genre == wanted}


def _lifetimes(names: _Names, rng: random.Random) -> dict[str, Any]:
    person, book = names.new(), f"{names.new(1)}, or the {names.new(1)}"
    died, out = rng.randrange(1850, 1990), rng.randrange(1850, 1990)
    triples = [f"({person}, date of death, {died})", f"({book}, publication date, 3 May {out})"]
    question = f"Could {person} have read {book}?"
    return {
        "query": question,
        "topics": [person, book],
        "kg_triples": triples,
        "answer": out < died,
    }


def _office(names: _Names, rng: random.Random) -> dict[str, Any]:
    holder, before = names.new(), names.new()
    place, gender = names.new(1), rng.choice(("female", "male"))
    triples = [
        f"({holder}, position held, Mayor of {place}, {{replaces, {before}}})",
        f"({before}, sex or gender, {gender})",
    ]
    question = f"Was the predecessor of {holder} as mayor a woman?"
    return {
        "query": question,
        "topics": [holder],
        "kg_triples": triples,
        "answer": gender == "female",
    }


def _spouse(names: _Names, rng: random.Random) -> dict[str, Any]:
    person, spouse, job = names.new(), names.new(), rng.choice(_JOBS)
    triples = [f"({person}, spouse, {spouse})", f"({spouse}, occupation, {job})"]
    question = f"Does the spouse of {person} live by voice?"
    return {"query": question, "topics": [person], "kg_triples": triples, "answer": job == "singer"}


_KINDS = (_town_sizes, _genre, _lifetimes, _office, _spouse)


def yes_no_records(count: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """Sound records in CoLoTa's published form."""
    rng = random.Random(seed)
    names = _Names(rng)
    records: list[dict[str, Any]] = []
    for number in range(count):
        made = _KINDS[number % len(_KINDS)](names, rng)
        topics: list[str] = made.pop("topics")
        records.append(
            {
                "id": f"S{number + 1}",
                **made,
                "kg_entities": {t: f"Q{900_000 + 2 * number + k}" for k, t in enumerate(topics)},
                "inference_rule": "made for a test",
                "reasoning_strategy": [_KINDS[number % len(_KINDS)].__name__.strip("_")],
                "reasoning_steps": [{"step": "look", "evidence": t} for t in made["kg_triples"]],
            }
        )
    return records


def faulty_records(count: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """The same with CoLoTa's faults: the id of record 200 stands there twice, the answer of 39 is
    its own question, 5 and 10 carry each other's evidence, a text of 7 breaks off, and all
    evidence of 3 is that of another variant."""
    records = yes_no_records(count, seed)
    records[38]["answer"] = records[38]["query"]
    records[4]["kg_triples"], records[9]["kg_triples"] = (
        records[9]["kg_triples"],
        records[4]["kg_triples"],
    )
    records[6]["kg_triples"].append(f"({next(iter(records[6]['kg_entities']))} , has part(s)")
    records[2]["kg_triples"] = ["(Someone Else, date of death, 1901)"]
    return [*records, {**records[0], "id": records[-1]["id"]}]
