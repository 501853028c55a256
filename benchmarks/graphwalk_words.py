"""What GraphWalk's tools and its oracle write again and again: one token for each."""

_CALL = '\n<tool_call>\n{"name": "'
_AROUND = f'{_CALL}get_all_nearest_neighbors", "arguments": {{"label": "'
_FIND = f'{_CALL}get_node_by_property", "arguments": {{"label": "'
_VALUES = f'{_CALL}get_unique_property_values", "arguments": {{"entity_name": "'
_ASKED = [
    "Give the keys of both ends, and every property of the relationship under its name.",
    'Answer with JSON only, a row for each, none twice: [{"',
    'Answer with JSON only, one row alone: [{"',
    '": text, "',
    '": number, "',
    '": text}]',
    '": number}]',
    "steps along the direction of relationships",
    "relationships have ",
    " as their ",
    "nodes have ",
    "nodes can be reached from the ",
    "node with the key ",
]
_SCHEMA = ['" ["', '", "', '"]\n', '"]: "', '" to ["', '"]; "', '" from ', '", ']
_CALLS = [
    f"One look is enough.{_FIND}",
    f"I begin there.{_AROUND}",
    f"Their relationships say it.{_AROUND}",
    f"done.{_FIND}",
    *(f"{before}{call}" for call in (_AROUND, _VALUES) for before in ("", '"')),
    '", "property_name": "',
    '", "property_name": "key", "property_value": "',
    '", "property_value": ',
    '", "property_value": "',
    '"}}\n</tool_call>',
    "}}\n</tool_call>",
    '", "entity_type": "node"}}\n</tool_call>',
]
_RESULTS = [
    "<tool_response>\n",
    "<tool_response>\nRows ",
    "<tool_response>\nValues ",
    '"]\n</tool_response>',
    '"}\n</tool_response>',
    "}\n</tool_response>",
    '"\n</tool_response>',
    "\n</tool_response>",
    "to ",
    "None.",
]
_LINES = [
    '["',
    '", "out", {"',
    '", "in", {"',
    '", "in", {" - ; ',
    '", "out", {" - ; ',
    '{"',
    '","',
    ',"',
    '":',
    '":"',
    ',"source_key":"',
    '","source_key":"',
    '","target_key":"',
    '{"key":"',
    '"}\n',
    "}\n",
    '"\n',
]
_MARKED = [
    '":8+ ',
    '":8+ "',
    '":8++ ',
    '":8++ "',
    ',"source_key":8< "',
    '","source_key":8< "',
    '","target_key":8> "',
    '"}, 8@ "',
]
"""What stands before the values of line 8."""
_THOUGHTS = [
    " - ; ",
    " no ; ",
    '" no ; ',
    '" seen ; ',
    '" leaf ; ',
    '" leaf ',
    '" goal "',
    '" ; ',
    " ; ",
    '" ',
    '"} ; ',
    "} ; ",
    " : \n",
    '" : \n',
    '{"node_key":"',
    '{"target_node_key":"',
    '{"value":"',
    '{"value":',
    "; next ",
    "; done.\n",
    "done.\n",
    "next ",
    '" depth ',
    "Now ",
    "of ",
    'to "',
    '" to "',
    '" not ',
]
LINES, VALUES, ROWS, QUEUED = 221, 101, 81, 61
"""Lines of a walk, values, rows of an answer, nodes of a queue: those that have their own token."""


def pieces() -> list[str]:
    """Those of any graph: names are tokens of their own, which a walk copies from the question."""
    found = [*_ASKED, *_SCHEMA, *_CALLS, *_RESULTS, *_LINES, *_THOUGHTS]
    found += [f"{n}{mark}" for n in range(LINES) for mark in (". ", '. ["', ". ; ", ".")]
    found += [text.replace("8", str(n)) for n in range(LINES) for text in _MARKED]
    found += [f"{n}{mark}" for n in range(VALUES) for mark in ("= ", '= "')]
    found += [f"{n}: " for n in range(ROWS)]
    found += [f"{mark}{n} " for n in range(ROWS) for mark in ("#",)]
    found += [f"{n} found; " for n in range(ROWS)]
    found += [f"{n}{mark}" for n in range(QUEUED) for mark in ('@"', " queued; ")]
    found += [f"at {n}; " for n in range(QUEUED)]
    found += [f"depth {n}; " for n in range(3)]
    found += [f"{n}{mark}" for n in range(1, 11) for mark in (") ", ') "')]
    found += [str(n) for n in range(1000)]
    found += [f".{n}" for n in range(10)] + [f".{n:02}" for n in range(100)]
    return list(dict.fromkeys(found))
