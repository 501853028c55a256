"""Five questions of our own making in WebQSP's published form, and a slice in FB15k's."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

IDS = {
    "Norvania": "/m/0n1", "Kestia": "/m/0k1", "Ombra": "/m/0o1", "Western Time": "/m/0t1",
    "Eastern Time": "/m/0t2", "Ana Ewers": "/m/0a1", "Ben Orlov": "/m/0b1", "Cleo Marsh": "/m/0c1",
    "Painter": "/m/0p1", "Baker": "/m/0p2", "Pilot": "/m/0p3", "Hidden Road": "/m/0f1",
    "Last Ferry": "/m/0f2", "Iron Lake": "/m/0f3",
}  # fmt: skip
ZONE, BORN = "/location/location/time_zones", "/people/person/place_of_birth"
ACTS = "/film/actor/film./film/performance/film"
WORKS = "/people/profession/people_with_this_profession"
FACTS = [
    ("Norvania", ZONE, "Western Time"), ("Kestia", ZONE, "Eastern Time"),
    ("Ombra", ZONE, "Eastern Time"), ("Painter", WORKS, "Ana Ewers"), ("Baker", WORKS, "Ben Orlov"),
    ("Pilot", WORKS, "Cleo Marsh"), ("Ben Orlov", ACTS, "Hidden Road"),
    ("Ben Orlov", ACTS, "Last Ferry"), ("Cleo Marsh", ACTS, "Iron Lake"),
    ("Ana Ewers", BORN, "Norvania"), ("Ben Orlov", BORN, "Kestia"), ("Cleo Marsh", BORN, "Ombra"),
]  # fmt: skip
REVERSES = {
    "people.person.profession": "people.profession.people_with_this_profession",
    "film.actor.film": "film.performance.actor",
    "film.performance.film": "film.film.starring",
}


def mid(name: str) -> str:
    """The id as WebQSP has it; a name that the slice lacks has one, too."""
    return IDS.get(name, f"/m/0z{sum(map(ord, name))}").replace("/m/", "m.")


def write(folder: Path) -> Path:
    """Write all files under the names that they are published by."""
    (folder / "FB15k").mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "WebQSP.zip", "w") as archive:
        for split, rows in (("train", TRAIN), ("test", TEST)):
            text = json.dumps({"Version": "1.0", "Questions": rows})
            archive.writestr(f"WebQSP/data/WebQSP.{split}.json", text)
    facts = [(IDS[s], p, IDS[o]) for s, p, o in FACTS]
    texts = {
        "FB15k/train.txt": _rows(facts[:8]),
        "FB15k/valid.txt": _rows(facts[6:10]),
        "FB15k/test.txt": _rows(facts[10:]),
        "FB15k_mid2name.txt": _rows((key, name.replace(" ", "_")) for name, key in IDS.items()),
        "reverse_properties.tsv": _rows(REVERSES.items()),
        "rog.jsonl": "".join(
            json.dumps({"id": row["QuestionId"], "prediction": "Last Ferry", "ground_truth": []})
            + "\n"
            for row in TEST
        ),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def parse(
    topic: str, patterns: str, answers: Sequence[str], chain: Sequence[str]
) -> dict[str, Any]:
    """A parse; `$` stands for the topic in the patterns."""
    body = patterns.replace("$", f"ns:{mid(topic)}")
    return {
        "ParseId": "P0",
        "Sparql": "PREFIX ns: <http://rdf.freebase.com/ns/>\nSELECT DISTINCT ?x\nWHERE {\n"
        f"FILTER (?x != ns:{mid(topic)})\n"
        "FILTER (!isLiteral(?x) OR lang(?x) = '' OR langMatches(lang(?x), 'en'))\n" + body + "}\n",
        "TopicEntityName": topic,
        "TopicEntityMid": mid(topic),
        "InferentialChain": list(chain),
        "Constraints": [],
        "Answers": [
            {"AnswerType": "Entity", "AnswerArgument": mid(name), "EntityName": name}
            for name in answers
        ],
    }


def record(number: str, text: str, *parses: dict[str, Any]) -> dict[str, Any]:
    return {"QuestionId": number, "RawQuestion": text, "Parses": list(parses)}


def _rows(rows: Any) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)


_ZONE, _WORKS = "location.location.time_zones", "people.person.profession"
_ACTS = ("film.actor.film", "film.performance.film")
_BIRTH = parse("Ana Ewers", "$ ns:people.person.date_of_birth ?x .\n", (), (_WORKS,))
_BIRTH["Answers"] = [{"AnswerType": "Value", "AnswerArgument": "1961-08-04", "EntityName": None}]
TRAIN = [
    record("WebQTrn-1", "what time zone is norvania in?",
           parse("Norvania", f"$ ns:{_ZONE} ?x .\n", ["Western Time"], [_ZONE])),
    record("WebQTrn-2", "what does ana ewers do?",
           parse("Ana Ewers", f"$ ns:{_WORKS} ?x .\n", ["Painter", "Sculptor"], [_WORKS])),
    record("WebQTrn-3", "when was ana ewers born?", _BIRTH),
]  # fmt: skip
TEST = [
    record("WebQTest-1", "what time zone is kestia in?",
           parse("Kestia", f"$ ns:{_ZONE} ?x .\n?x ns:common.topic.notable_types ns:m.0tz .\n"
                 f"$ ns:location.location.area ?sk0 .\n", ["Eastern Time"], [_ZONE])),
    record("WebQTest-2", "what movies does ben orlov play in?",
           parse("Ben Orlov", "$ ns:film.director.film ?x .\n", ["Cold Hill"], _ACTS[:1]),
           parse("Ben Orlov", f"$ ns:{_ACTS[0]} ?y .\n?y ns:{_ACTS[1]} ?x .\n", ["Last Ferry"],
                 _ACTS)),
]  # fmt: skip
