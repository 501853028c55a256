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
    ("dblp", "unknown_action", [PAPER, {"action": "Sort_Nodes", "by": "year"}]),
    ("dblp", "unknown_action", [{"node_finding_hint": "A", "node_type": "paper"}]),
    ("dblp", "unknown_action", [PAPER, {"action": None}]),
    ("amazon", "unknown_action", [ITEM, {"action": "Get_Feature", "key": "price"}]),
    ("amazon", "unknown_action", [ITEM, {"action": "Fetch_Neighbours", "targeted_edge_type": "b"}]),
    ("amazon", "unknown_action", [{"action": ["Find_Node"]}]),
    # Arguments that are not of an action's form.
    ("dblp", "form", [{"action": "Find_Node", "node_finding_hint": "A"}]),
    ("dblp", "form", [{"action": "Find_Node", "node_type": "paper"}]),
    ("dblp", "form", [{"action": "Find_Node", "node_finding_hint": "", "node_type": "paper"}]),
    ("dblp", "form", [{**PAPER, "limit": 5}]),
    ("dblp", "form", [PAPER, {"action": "Fetch_Neighbors"}]),
    ("dblp", "form", [PAPER, {**edge("author"), "targeted_node_type": "author"}]),
    ("dblp", "form", [PAPER, edge("author", "both")]),
    ("dblp", "form", [PAPER, {"action": "Fetch_Neighbors", "targeted_edge_type": 3}]),
    ("dblp", "form", [AUTHOR, {"action": "Find_Common_Nodes", "nodes": [["$1", "paper"]]}]),
    ("dblp", "form", [AUTHOR, {"action": "Find_Common_Nodes", "nodes": "$1, $2"}]),
    ("amazon", "form", [ITEM, common(("$1", "brand"), ("$1",))]),
    ("amazon", "form", ["Find_Node(lamp)"]),
    ("amazon", "form", [ITEM, ["Fetch_Neighbors", "brand"]]),
    ("amazon", "form", [{"action": "Find_Node", "node_finding_hint": None, "node_type": "item"}]),
    # Nothing to begin with.
    ("dblp", "empty", []),
    ("dblp", "first_step", [edge("author")]),
    ("dblp", "first_step", [kind("paper")]),
    ("dblp", "first_step", [common(("$1", "paper"), ("$2", "paper"))]),
    ("amazon", "first_step", [edge("brand"), ITEM]),
    ("amazon", "first_step", [kind("brand")]),
    # Node types that do not exist.
    ("dblp", "unknown_node_type", [find("A", "article")]),
    ("dblp", "unknown_node_type", [PAPER, kind("conference")]),
    ("amazon", "unknown_node_type", [find("lamp", "product")]),
    ("amazon", "unknown_node_type", [ITEM, kind("customer")]),
    ("amazon", "unknown_node_type", [find("</answer>", "<|im_end|>")]),
    # Edge types that do not exist.
    ("dblp", "unknown_edge_type", [PAPER, edge("written_by")]),
    ("dblp", "unknown_edge_type", [PAPER, edge("cited_by")]),
    ("dblp", "unknown_edge_type", [AUTHOR, edge("paper"), edge("journal")]),
    ("dblp", "unknown_edge_type", [AUTHOR, AUTHOR, common(("$1", "wrote"), ("$2", "wrote"))]),
    ("amazon", "unknown_edge_type", [ITEM, edge("also_bought_item")]),
    ("amazon", "unknown_edge_type", [ITEM, ITEM, common(("$1", "brand"), ("$2", "seller"))]),
    # Edge types that do not leave the node type that the plan stands on.
    ("dblp", "infeasible", [AUTHOR, edge("venue")]),
    ("dblp", "infeasible", [VENUE, edge("reference")]),
    ("dblp", "infeasible", [PAPER, edge("author"), edge("reference")]),
    ("dblp", "infeasible", [PAPER, edge("venue"), edge("author")]),
    ("dblp", "infeasible", [AUTHOR, edge("author", "out")]),
    ("dblp", "infeasible", [AUTHOR, VENUE, common(("$1", "venue"), ("$2", "paper"))]),
    ("dblp", "infeasible", [PAPER, PAPER, common(("$1", "author"), ("$2", "venue"))]),
    ("amazon", "infeasible", [BRAND, edge("also_viewed_item")]),
    ("amazon", "infeasible", [ITEM, edge("brand"), edge("also_viewed_item")]),
    # A step that is not there.
    ("amazon", "unknown_step", [ITEM, common(("$1", "brand"), ("$4", "brand"))]),
]

VALID: list[tuple[str, Plan]] = [
    ("dblp", [PAPER]),
    ("dblp", [find("On the river of orbit", "paper")]),
    ("dblp", [find('a "quoted", name \\', "author")]),
    ("dblp", [find("</answer> <|im_end|>", "paper")]),
    ("dblp", [PAPER, edge("author")]),
    ("dblp", [PAPER, edge("reference")]),
    ("dblp", [PAPER, edge("reference", "in")]),
    ("dblp", [PAPER, edge("reference", "out")]),
    ("dblp", [AUTHOR, edge("paper")]),
    ("dblp", [AUTHOR, edge("author")]),
    ("dblp", [AUTHOR, edge("author", "in")]),
    ("dblp", [PAPER, edge("author"), edge("paper"), edge("venue")]),
    ("dblp", [PAPER, edge("reference"), edge("reference"), edge("venue")]),
    ("dblp", [AUTHOR, edge("paper"), edge("venue"), edge("paper"), edge("author")]),
    ("dblp", [PAPER, kind("author")]),
    ("dblp", [AUTHOR, kind("venue")]),
    ("dblp", [VENUE, kind("author"), edge("paper")]),
    ("dblp", [AUTHOR, edge("paper"), kind("venue"), edge("paper")]),
    ("dblp", [AUTHOR, AUTHOR, common(("$1", "paper"), ("$2", "paper"))]),
    ("dblp", [AUTHOR, VENUE, common(("$1", "paper"), ("$2", "paper"))]),
    ("dblp", [PAPER, PAPER, common(("$1", "venue"), ("$2", "venue")), edge("paper")]),
    ("dblp", [PAPER, PAPER, common(("$1", "reference"), ("$2", "reference", "in"))]),
    ("dblp", [AUTHOR, common(("$1", "paper"), ("Journal of River", "paper"))]),
    ("dblp", [AUTHOR, common(("Author A", "paper"), ("Author B", "paper"))]),
    ("dblp", [AUTHOR, AUTHOR, AUTHOR, common(*((f"${k}", "paper") for k in (1, 2, 3)))]),
    ("dblp", [PAPER, edge("author"), VENUE, common(("$2", "paper"), ("$3", "paper"))]),
    ("dblp", [AUTHOR, edge("paper"), common(("$2", "author"), ("$2", "author"))]),
    ("dblp", [PAPER, AUTHOR, edge("paper"), edge("venue")]),
    ("amazon", [ITEM]),
    ("amazon", [ITEM, edge("brand")]),
    ("amazon", [ITEM, edge("also_viewed_item")]),
    ("amazon", [ITEM, edge("also_viewed_item", "in")]),
    ("amazon", [BRAND, edge("brand", "in"), edge("also_viewed_item")]),
    ("amazon", [ITEM, edge("also_viewed_item"), edge("brand")]),
    ("amazon", [ITEM, kind("brand")]),
    ("amazon", [BRAND, kind("brand")]),
    ("amazon", [ITEM, kind("item"), kind("brand")]),
    ("amazon", [BRAND, ITEM, common(("$1", "brand"), ("$2", "also_viewed_item"))]),
    ("amazon", [ITEM, ITEM, common(("$1", "also_viewed_item"), ("$2", "also_viewed_item", "in"))]),
]
"""A plan whose types are right may still not mean what the question asks: such reasoning errors are
not what verification is for."""
