"""Traversal plans over the toy GRBench graphs: those that a model made up, and sound ones."""

from typing import Any

Plan = list[Any]


def find(hint: str, node_type: str) -> dict[str, str]:
    return {"action": "Find_Node", "node_finding_hint": hint, "node_type": node_type}


def edge(name: str, direction: str = "") -> dict[str, str]:
    way = {"direction": direction} if direction else {}
    return {"action": "Fetch_Neighbors", "targeted_edge_type": name, **way}


def kind(name: str) -> dict[str, str]:
    return {"action": "Fetch_Neighbors", "targeted_node_type": name}


def common(*pairs: tuple[str, ...]) -> dict[str, Any]:
    return {"action": "Find_Common_Nodes", "nodes": [list(pair) for pair in pairs]}


PAPER, AUTHOR, VENUE = find("A", "paper"), find("Author B", "author"), find("Journal", "venue")
ITEM, BRAND = find("lamp", "item"), find("River & Co.", "brand")

HALLUCINATED: list[tuple[str, str, Plan]] = [
    # Actions that do not exist.
    ("dblp", "unknown_action", [{"action": "Search", "query": "A"}]),
    ("dblp", "unknown_action", [{"action": "find_node", "node_finding_hint": "A"}]),
    ("dblp", "unknown_action", [PAPER, {"action": "Count_Nodes"}]),
    ("dblp", "unknown_action", [PAPER, edge("author"), {"action": "Filter", "by": "year"}]),
    # Arguments that are not of an action's form.
    ("dblp", "form", [{"action": "Find_Node", "node_finding_hint": "A"}]),
    ("dblp", "form", [{"action": "Find_Node", "node_type": "paper"}]),
    ("dblp", "form", [{"action": "Find_Node", "node_finding_hint": "", "node_type": "paper"}]),
    ("dblp", "form", [{**PAPER, "limit": 5}]),
    # Nothing to begin with.
    ("dblp", "empty", []),
    ("dblp", "first_step", [edge("author")]),
    ("dblp", "first_step", [kind("paper")]),
    ("dblp", "first_step", [common(("$1", "paper"), ("$2", "paper"))]),
    ("amazon", "first_step", [edge("brand"), ITEM]),
    # Node types that do not exist.
    ("dblp", "unknown_node_type", [find("A", "article")]),
    ("dblp", "unknown_node_type", [PAPER, kind("conference")]),
    ("amazon", "unknown_node_type", [find("lamp", "product")]),
    ("amazon", "unknown_node_type", [ITEM, kind("customer")]),
    # Edge types that do not exist.
    ("dblp", "unknown_edge_type", [PAPER, edge("written_by")]),
    ("dblp", "unknown_edge_type", [PAPER, edge("cited_by")]),
    ("dblp", "unknown_edge_type", [AUTHOR, edge("paper"), edge("journal")]),
    ("dblp", "unknown_edge_type", [AUTHOR, AUTHOR, common(("$1", "wrote"), ("$2", "wrote"))]),
    # Edge types that do not leave the node type that the plan stands on.
    ("dblp", "infeasible", [AUTHOR, edge("venue")]),
    ("dblp", "infeasible", [VENUE, edge("reference")]),
    ("dblp", "infeasible", [PAPER, edge("author"), edge("reference")]),
    ("dblp", "infeasible", [PAPER, edge("venue"), edge("author")]),
    # A step that is not there.
    ("amazon", "unknown_step", [ITEM, common(("$1", "brand"), ("$4", "brand"))]),
]

VALID: list[tuple[str, Plan]] = [
    ("dblp", [PAPER]),
    ("dblp", [find("</answer> <|im_end|>", "paper")]),
    ("dblp", [PAPER, edge("reference", "in")]),
    ("dblp", [AUTHOR, edge("author")]),
    ("dblp", [PAPER, edge("reference"), edge("reference"), edge("venue")]),
    ("dblp", [AUTHOR, kind("venue")]),
    ("dblp", [AUTHOR, AUTHOR, common(("$1", "paper"), ("$2", "paper"))]),
    ("dblp", [PAPER, PAPER, common(("$1", "reference"), ("$2", "reference", "in"))]),
    ("dblp", [AUTHOR, AUTHOR, AUTHOR, common(*((f"${k}", "paper") for k in (1, 2, 3)))]),
    ("dblp", [PAPER, AUTHOR, edge("paper"), edge("venue")]),
    ("amazon", [ITEM, edge("also_viewed_item")]),
    ("amazon", [ITEM, edge("also_viewed_item"), edge("brand")]),
    ("amazon", [ITEM, kind("item"), kind("brand")]),
]
"""A plan whose types are right may still not mean what the question asks: such reasoning errors are
not what verification is for."""
