"""Toy graphs in GRBench's published form for two domains, with questions and their plans."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Graph = dict[str, dict[str, Any]]
Record = dict[str, Any]
Asked = tuple[str, str, list[Record]]
_WORDS = ("graph", "river", "signal", "copper", "orbit", "garden", "lattice", "harbour", "enzyme")


def academic(seed: int = 0) -> Graph:
    """Papers, authors and venues, as the published dblp graph has them."""
    rng = random.Random(seed)
    papers: dict[str, Any] = {}
    authors = {
        f"a{i}": _node({"name": f"Author {chr(65 + i)} Kel{i}", "organization": f"Institute {i}"})
        for i in range(12)
    }
    venues = {
        f"v{i}": _node({"name": f"Journal of {word.title()}"}) for i, word in enumerate(_WORDS)
    }
    for i in range(40):
        title = f"On the {_WORDS[i % 9]} of {_WORDS[(i * 4 + 1) % 9]} {i}"
        written, venue = rng.sample(sorted(authors), 3), rng.choice(sorted(venues))
        cited = [f"p{j}" for j in rng.sample(range(40), 2) if j != i]
        features = {"title": title, "abstract": f"We study {title}.", "year": str(1980 + i)}
        neighbors = {"author": written, "venue": [venue], "reference": cited}
        papers[f"p{i}"] = {"features": features, "neighbors": neighbors}
        for one in written:
            authors[one]["neighbors"].setdefault("paper", []).append(f"p{i}")
        venues[venue]["neighbors"].setdefault("paper", []).append(f"p{i}")
    return {"paper_nodes": papers, "author_nodes": authors, "venue_nodes": venues}


def commerce(seed: int = 0) -> Graph:
    """Items and brands, as the published amazon graph has them; `brand` stands at items alone."""
    rng = random.Random(seed)
    brands = {f"b{i}": _node({"name": f"{word.title()} & Co."}) for i, word in enumerate(_WORDS)}
    items: dict[str, Any] = {}
    for i in range(40):
        title = f'{_WORDS[i % 9].title()} lamp, 12" model {i}'
        category = f"Home,Lamps,{_WORDS[i % 7]}"
        features = {"title": title, "price": f"{5 + i}.50", "category": category}
        viewed = [f"i{j}" for j in rng.sample(range(40), 3) if j != i]
        neighbors = {"brand": [f"b{i % 9}"], "also_viewed_item": viewed}
        items[f"i{i}"] = {"features": features, "neighbors": neighbors}
    return {"item_nodes": items, "brand_nodes": brands}


def _node(features: dict[str, str]) -> dict[str, Any]:
    return {"features": features, "neighbors": {}}


def find(hint: str, node_type: str) -> Record:
    return {"action": "Find_Node", "node_finding_hint": hint, "node_type": node_type}


def edge(name: str, **direction: str) -> Record:
    return {"action": "Fetch_Neighbors", "targeted_edge_type": name, **direction}


def kind(name: str) -> Record:
    return {"action": "Fetch_Neighbors", "targeted_node_type": name}


def common(*pairs: tuple[str, ...]) -> Record:
    return {"action": "Find_Common_Nodes", "nodes": [list(pair) for pair in pairs]}


def _name(graph: Graph, node: str) -> str:
    features = next(nodes[node]["features"] for nodes in graph.values() if node in nodes)
    return str(features.get("name") or features["title"])


def _names(graph: Graph, nodes: list[str]) -> str:
    return ", ".join(_name(graph, node) for node in dict.fromkeys(nodes))


def academic_questions(graph: Graph) -> list[Record]:
    """Six templates of ten questions each; easy ones, then those of several hops."""
    papers, authors = graph["paper_nodes"], graph["author_nodes"]

    def authors_of(i: int) -> Asked:
        paper = papers[f"p{i}"]
        answer = _names(graph, paper["neighbors"]["author"])
        title = paper["features"]["title"]
        return f"Who wrote {title}?", answer, [find(title, "paper"), edge("author")]

    def year_of(i: int) -> Asked:
        features = papers[f"p{i}"]["features"]
        title = features["title"]
        return f"When was {title} out?", features["year"], [find(title, "paper")]

    def venue_of(i: int) -> Asked:
        paper = papers[f"p{i}"]
        title, answer = paper["features"]["title"], _names(graph, paper["neighbors"]["venue"])
        plan = [find(title, "paper"), kind("venue")]
        return f"Where was {title} published?", answer, plan

    def count_of(i: int) -> Asked:
        author = authors[f"a{i}"]
        name, count = author["features"]["name"], len(author["neighbors"]["paper"])
        return f"How many papers has {name}?", str(count), [find(name, "author"), edge("paper")]

    def common_of(i: int) -> Asked:
        pair = papers[f"p{i}"]["neighbors"]["author"][:2]
        sets = [authors[one]["neighbors"]["paper"] for one in pair]
        answer = _names(graph, [p for p in sets[0] if p in sets[1]])
        names = [_name(graph, one) for one in pair]
        plan = [*(find(n, "author") for n in names), common(("$1", "paper"), ("$2", "paper"))]
        return f"What did {names[0]} and {names[1]} write together?", answer, plan

    def venues_of(i: int) -> Asked:
        author = authors[f"a{i}"]
        found = [v for p in author["neighbors"]["paper"] for v in papers[p]["neighbors"]["venue"]]
        name = author["features"]["name"]
        plan = [find(name, "author"), edge("paper"), edge("venue")]
        return f"In which journals did {name} publish?", _names(graph, found), plan

    made = (authors_of, year_of, venue_of, count_of, common_of, venues_of)
    return _records(made, ("easy", "easy", "easy", "easy", "medium", "medium"))


def commerce_questions(graph: Graph) -> list[Record]:
    """Four templates of ten questions each."""
    items = graph["item_nodes"]

    def brand_of(i: int) -> Asked:
        item = items[f"i{i}"]
        title, answer = item["features"]["title"], _names(graph, item["neighbors"]["brand"])
        return f"Of which brand is {title}?", answer, [find(title, "item"), edge("brand")]

    def category_of(i: int) -> Asked:
        features = items[f"i{i}"]["features"]
        question = f"What kind of thing is {features['title']}?"
        return question, features["category"], [find(features["title"], "item")]

    def count_of(i: int) -> Asked:
        brand = f"b{i % 9}"
        name = _name(graph, brand)
        count = sum(brand in item["neighbors"]["brand"] for item in items.values())
        # `brand` stands at items alone: from a brand it is followed against its direction.
        return f"How many items has {name}?", str(count), [find(name, "brand"), edge("brand")]

    def viewed_brands(i: int) -> Asked:
        item = items[f"i{i}"]
        viewed = item["neighbors"]["also_viewed_item"]
        found = [b for one in viewed for b in items[one]["neighbors"]["brand"]]
        title = item["features"]["title"]
        plan = [find(title, "item"), edge("also_viewed_item"), edge("brand")]
        return f"Which brands did viewers of {title} look at?", _names(graph, found), plan

    made = (brand_of, category_of, count_of, viewed_brands)
    return _records(made, ("easy", "easy", "easy", "medium"))


def _records(made: Sequence[Callable[[int], Asked]], levels: Sequence[str]) -> list[Record]:
    records: list[Record] = []
    for template, level in zip(made, levels, strict=True):
        for i in range(10):
            told = dict(zip(("question", "answer", "plan"), template(i), strict=True))
            records.append({"qid": str(len(records)), "level": level, **told})
    return records


def write_toy(folder: Path, graph: Graph, questions: list[Record]) -> tuple[Path, Path]:
    """The two files as they are published: `graph.json`, and one question a line."""
    folder.mkdir(parents=True, exist_ok=True)
    path, lines = folder / "graph.json", folder / "data.jsonl"
    path.write_text(json.dumps(graph))
    lines.write_text("".join(json.dumps(record) + "\n" for record in questions))
    return path, lines
