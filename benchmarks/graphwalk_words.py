"""What GraphWalk's tools and its oracle write again and again: one token for each."""

from collections.abc import Iterable

_CALL = '\n<tool_call>\n{"name": "'
PIECES = [
    f'One look is enough.{_CALL}get_node_by_property", "arguments": {{"label": "',
    f'I begin there.{_CALL}get_all_nearest_neighbors", "arguments": {{"label": "',
    f'Their relationships say it.{_CALL}get_all_nearest_neighbors", "arguments": {{"label": "',
    f'{_CALL}get_all_nearest_neighbors", "arguments": {{"label": "',
    f'{_CALL}get_node_by_property", "arguments": {{"label": "',
    f'{_CALL}get_unique_property_values", "arguments": {{"entity_name": "',
    '", "property_name": "',
    '", "property_value": ',
    '", "property_value": "',
    '", "property_name": "key", "property_value": "',
    '"}}\n</tool_call>',
    "}}\n</tool_call>",
    '", "entity_type": "node"}}\n</tool_call>',
    "<tool_response>\n",
    "\n</tool_response>",
    "]\n</tool_response>",
    '"]\n</tool_response>',
    "<tool_response>\nRows ",
    "None.",
    '", "',
    '", ',
    ', "',
    ", ",
    '", ["',
    ', ["',
    ", [",
    '"], "',
    '], "',
    '"], [',
    '"]]\n',
    '"]\n',
    '", [',
    '"]',
    "]",
    '["',
    '"], ["',
    "]]\n",
    '["key", "',
    '" to ["',
    '", "in"\n',
    '", "in", "',
    '", "out", ["',
    '", "out", [',
    '", "in", ["',
    '", "in", [',
    '"] no\n',
    "] no\n",
    '"], "',
    '], "',
    'starts at "',
    '".',
    '" seen\n',
    '" leaf\n',
    '" leaf #',
    '" no\n',
    '" goal\n',
    " is the last.",
    "Now ",
    "after ",
    "First ",
    "next ",
    "Which ",
    "to ",
    ". Next is ",
    "done.\n",
    '{"node_key":"',
    '{"target_node_key":"',
    '{"source_key":"',
    '","target_key":"',
    '","',
    '":"',
    '":',
    ',"',
    '"}',
    '"}\n',
    '{"value":"',
    '{"value":',
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
for n in range(0, 401):
    PIECES.append(f"{n}. ")
for n in range(0, 81):
    PIECES += [f"#{n} ", f"{n} found; "]
for n in range(1, 61):
    PIECES += [f"{n}@", f"{n} queued; ", f"at {n}; "]
for n in range(3):
    PIECES += [f"depth {n}; "]


PIECES += [f'{n}: ["' for n in range(81)] + [f"{n}: " for n in range(81)]
PIECES += [f'{n}@"' for n in range(1, 61)]
PIECES += [
    " - ; ",
    '"] no ; ',
    "] no ; ",
    '" no ; ',
    '" seen ; ',
    '" leaf ; ',
    '" leaf #',
    '"} ; ',
    '" depth ',
]
PIECES += ["; ; ", " ; ", '" goal "', '", "']
PIECES += [f'done.{_CALL}get_node_by_property", "arguments": {{"label": "', '" in "', '"] : \n']
PIECES += ['" not ', '" not "', 'to "', '" from "', '" and "', '"]: "', '"]; "', '" ["', "]: "]
PIECES += [f"{n}{mark}" for n in range(101) for mark in ("= ", '= "')]
PIECES += [f"{n}{mark}" for n in range(401) for mark in ("+ ", '+ "')]
PIECES += [f"{n}) " for n in range(1, 11)]
PIECES += [
    "; next ",
    "of ",
    " : \n",
    '"\n',
    "Values ",
    "; done.\n",
    '"source_key":"',
    ',"source_key":"',
]
PIECES += ['","source_key":"', '" : \n', "<tool_response>\nValues ", '"\n</tool_response>']
PIECES += [f'"{_CALL}get_all_nearest_neighbors", "arguments": {{"label": "']
PIECES += [str(n) for n in range(1000)]
PIECES += [f".{n}" for n in range(10)] + [f".{n:02}" for n in range(100)]


def pieces(words: Iterable[str] = ()) -> list[str]:
    """With those that hold a type of relationship, of which `words` are those in capitals."""
    types = [word for word in words if word.isupper()]
    ends = ['["', "["]
    return [
        *dict.fromkeys(PIECES),
        *(f'["{t}", "{side}", {end}' for t in types for side in ("out", "in") for end in ends),
    ]
