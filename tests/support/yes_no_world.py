"""200 questions in CoLoTa's published form over an invented world, with its published faults."""

import random
from typing import Any

_SYLLABLES = ("ba", "dor", "ke", "lin", "mo", "nar", "pel", "ri", "sa", "tu", "vel", "zo")
_GENRES = ("novel", "short story", "ode", "satire")
_JOBS = ("singer", "carpenter", "surgeon", "referee")


class _Names:
    def __init__(self, rng: random.Random) -> None:
        self._rng, self._used = rng, set[str]()

    def new(self, words: int = 2) -> str:
        drawn = ("".join(self._rng.choices(_SYLLABLES, k=3)).title() for _ in range(words))
        name = " ".join(drawn)
        if name in self._used:
            return self.new(words)
        self._used.add(name)
        return name


def _record(query: str, topics: list[str], kg_triples: list[str], answer: bool) -> dict[str, Any]:
    return {"query": query, "topics": topics, "kg_triples": kg_triples, "answer": answer}


def _town_sizes(names: _Names, rng: random.Random) -> dict[str, Any]:
    a, b = names.new(1), names.new(1)
    sizes = rng.sample(range(10_000, 90_000), 2)
    triples = [f"({t}, population, {n:,})" for t, n in zip((a, b), sizes, strict=True)]
    question = f"Does {a} have more inhabitants than {b}?"
    return _record(question, [a, b], triples, sizes[0] > sizes[1])


def _genre(names: _Names, rng: random.Random) -> dict[str, Any]:
    writer, work = names.new(), names.new()
    genre, wanted = rng.choice(_GENRES), rng.choice(_GENRES)
    triples = [f"({writer}, notable work, {work})", f"({work}, genre, {genre})"]
    question = f"Is {writer}'s best known work a {wanted}?"
    return _record(question, [writer], triples, genre == wanted)


def _lifetimes(names: _Names, rng: random.Random) -> dict[str, Any]:
    person, book = names.new(), f"{names.new(1)}, or the {names.new(1)}"
    died, out = rng.randrange(1850, 1990), rng.randrange(1850, 1990)
    triples = [f"({person}, date of death, {died})", f"({book}, publication date, 3 May {out})"]
    return _record(f"Could {person} have read {book}?", [person, book], triples, out < died)


def _office(names: _Names, rng: random.Random) -> dict[str, Any]:
    holder, before = names.new(), names.new()
    place, gender = names.new(1), rng.choice(("female", "male"))
    triples = [f"({holder}, position held, Mayor of {place}, {{replaces, {before}}})"]
    triples += [f"({before}, sex or gender, {gender})"]
    question = f"Was the predecessor of {holder} as mayor a woman?"
    return _record(question, [holder], triples, gender == "female")


def _spouse(names: _Names, rng: random.Random) -> dict[str, Any]:
    person, spouse, job = names.new(), names.new(), rng.choice(_JOBS)
    triples = [f"({person}, spouse, {spouse})", f"({spouse}, occupation, {job})"]
    question = f"Does the spouse of {person} live by voice?"
    return _record(question, [person], triples, job == "singer")


_KINDS = (_town_sizes, _genre, _lifetimes, _office, _spouse)


def yes_no_records(count: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """Sound records in CoLoTa's published form."""
    rng = random.Random(seed)
    names = _Names(rng)
    records: list[dict[str, Any]] = []
    for number in range(count):
        kind = _KINDS[number % len(_KINDS)]
        made = {"id": f"S{number + 1}", **kind(names, rng)}
        topics = enumerate(made.pop("topics"))
        made["kg_entities"] = {t: f"Q{900_000 + 2 * number + k}" for k, t in topics}
        made["inference_rule"] = "made for a test"
        made["reasoning_strategy"] = [kind.__name__.strip("_")]
        steps = [{"step": "look", "evidence": triple} for triple in made["kg_triples"]]
        records.append({**made, "reasoning_steps": steps})
    return records


def faulty_records(count: int = 200, seed: int = 0) -> list[dict[str, Any]]:
    """The same with CoLoTa's faults: the id of record 200 stands there twice, the answer of 39 is
    its own question, 5 and 10 carry each other's evidence, a text of 7 breaks off, and all
    evidence of 3 is that of another variant."""
    records = yes_no_records(count, seed)
    records[38]["answer"] = records[38]["query"]
    fifth, tenth = records[4], records[9]
    fifth["kg_triples"], tenth["kg_triples"] = tenth["kg_triples"], fifth["kg_triples"]
    records[6]["kg_triples"].append(f"({next(iter(records[6]['kg_entities']))} , has part(s)")
    records[2]["kg_triples"] = ["(Someone Else, date of death, 1901)"]
    return [*records, {**records[0], "id": records[-1]["id"]}]
