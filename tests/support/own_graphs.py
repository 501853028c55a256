"""Files of questions that bring their own graphs, in each published form, and their one union."""

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from graphwalker.graphs.memory import MemoryGraph

LIVES, RIVER = "people.person.place_of_birth", "location.citytown.river"
SPOUSE, HELD = "people.person.spouse_s", "people.marriage.spouse"


@dataclass(frozen=True)
class Brought:
    """One question with its graph, entities as (id, name)."""

    id: str
    text: str
    topic: str
    answers: list[str]
    graph: list[list[str]]
    path: list[str]


def brought(count: int, size: int = 6, seed: int = 0) -> list[Brought]:
    """Questions about people of their own, each in a graph of `size` and some more triples; every
    third is of two hops, and each graph has one marriage, a node without a name."""
    rng, found = random.Random(seed), []
    for n in range(count):
        person, town, river = f"Ana {n}", f"Kestrup {n}", f"Ombra {n}"
        graph = [[person, LIVES, town], [town, RIVER, river]]
        graph += [[person, SPOUSE, f"m.0x{n}"], [f"m.0x{n}", HELD, f"Ben {n}"]]
        graph += [[town, f"location.citytown.sight_{k}", f"Sight {n} {k}"] for k in range(size)]
        rng.shuffle(graph)
        asked = (f"which place of birth has {person}", person, [town], graph, [LIVES])
        if n % 3 == 2:
            text = f"which river flows through the birth place of {person}"
            asked = (text, person, [river], graph, [LIVES, RIVER])
        found.append(Brought(f"WebQTest-{n}", *asked))
    return found


def union(questions: Iterable[Brought]) -> MemoryGraph:
    """All of their graphs as one: an entity's name is its id, but of a node without one."""
    facts = {(h, r, t) for question in questions for h, r, t in question.graph}
    nodes = {node for head, _, tail in facts for node in (head, tail)}
    return MemoryGraph(facts, {node: node for node in nodes if not node.startswith("m.0x")})


def write_rog(questions: list[Brought], folder: Path) -> Path:
    rows = [
        {
            "id": q.id, "question": q.text, "answer": q.answers, "q_entity": [q.topic],
            "a_entity": q.answers, "graph": q.graph, "choices": [], "ground_paths": [q.path],
        }
        for q in questions
    ]  # fmt: skip
    return _write(folder / "rog_test.jsonl", rows)


def write_parquet(questions: list[Brought], folder: Path) -> Path:
    import duckdb

    source, out = write_rog(questions, folder), folder / "rog_test.parquet"
    with duckdb.connect() as database:
        database.execute(f"COPY (FROM read_json('{source}')) TO '{out}' (ROW_GROUP_SIZE 2048)")
    source.unlink()
    return out


def write_scored(questions: list[Brought], folder: Path) -> Path:
    rows = [
        {
            "id": q.id, "question": q.text, "q_entity": [q.topic], "a_entity": q.answers,
            "scored_triples": [[*fact, 0.5] for fact in q.graph], "ground_paths": [q.path],
        }
        for q in questions
    ]  # fmt: skip
    return _write(folder / "scored_test.jsonl", rows)


def write_subgraph_rag(questions: list[Brought], folder: Path) -> Path:
    rows = []
    for q in questions:
        ends = {n for h, _, t in q.graph for n in (h, t)}
        nodes = sorted(ends, key=lambda n: (n[:3] == "m.0", n))
        relations = sorted({r for _, r, _ in q.graph})
        rows.append(
            {
                "id": q.id, "question": q.text, "q_entity": [q.topic], "a_entity": q.answers,
                "text_entity_list": nodes[:-1], "non_text_entity_list": nodes[-1:],
                "relation_list": relations, "ground_paths": [q.path],
                "h_id_list": [nodes.index(h) for h, _, _ in q.graph],
                "r_id_list": [relations.index(r) for _, r, _ in q.graph],
                "t_id_list": [nodes.index(t) for _, _, t in q.graph],
            }
        )  # fmt: skip
    return _write(folder / "subgraph_test.jsonl", rows)


def write_gnn_rag(questions: list[Brought], folder: Path, names: str = "by id") -> Path:
    """Entities are MIDs, named in a file beside the questions."""
    texts = sorted({n for q in questions for h, _, t in q.graph for n in (h, t)})
    relations = sorted({r for q in questions for _, r, _ in q.graph})
    ids = {text: text if text[:3] == "m.0" else f"m.{k:05d}" for k, text in enumerate(texts)}
    place = {text: k for k, text in enumerate(texts)}
    (folder / "entities.txt").write_text("".join(f"{ids[text]}\n" for text in texts))
    (folder / "relations.txt").write_text("".join(f"{relation}\n" for relation in relations))
    if names == "by id":
        known = {ids[text]: text for text in texts if ids[text] != text}
        (folder / "entities_names.json").write_text(json.dumps(known))
    else:
        (folder / "entities_text.txt").write_text("".join(f"{text}\n" for text in texts))
    rows = [
        {
            "id": q.id, "question": q.text, "entities": [place[q.topic]],
            "answers": [{"kb_id": ids[a], "text": a} for a in q.answers],
            "subgraph": {
                "tuples": [[place[h], relations.index(r), place[t]] for h, r, t in q.graph],
                "entities": sorted({place[n] for h, _, t in q.graph for n in (h, t)}),
            },
            "ground_paths": [q.path],
        }
        for q in questions
    ]  # fmt: skip
    return _write(folder / "test_simple.json", rows)


def write_kg_r1(questions: list[Brought], folder: Path) -> Path:
    return write_gnn_rag(questions, folder, names="by line")


FORMS: dict[str, Callable[[list[Brought], Path], Path]] = {
    "RoG": write_rog,
    "RoG in Parquet": write_parquet,
    "SubgraphRAG's scores": write_scored,
    "SubgraphRAG": write_subgraph_rag,
    "GNN-RAG": write_gnn_rag,
    "KG-R1": write_kg_r1,
}


def _write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path
