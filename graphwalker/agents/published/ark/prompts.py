"""What ARK-V1 is asked in each state, and the forms that it fills in."""

FORMS = {
    "anchor": {"anchor": "Name"},
    "relation": {"relation": "relation"},
    "reason": {
        "triples": ["ab12"],
        "implication": "what follows",
        "continue": True,
        "reset": False,
    },
    "summary": {"summary": "what is known so far"},
}
ANCHOR = (
    "Choose one entity to explore next. Only an entity with outgoing triples counts.\n"
    'Write {"thought": "why", "anchor": "Name"}'
)
RELATION = (
    'Choose the one of these relations that helps most; "" if none does, then another entity can '
    'be chosen.\nWrite {"thought": "why", "relation": "relation"}'
)
REASON = (
    "Choose the triples that matter by their keys, and say what follows from them, common sense "
    'included. "continue": is more to be explored? "reset": is this step of no use?\n'
    'Write {"thought": "why", "triples": ["ab12"], "implication": "what follows", '
    '"continue": true, "reset": false}'
)
SUMMARY = (
    "Sum up every step so far in a few sentences: the facts found, and what follows from them.\n"
    'Write {"summary": "what is known so far"}'
)
FINAL = (
    "Answer the question from the steps and common sense. A question of yes or no: true, false, or "
    'null where it cannot be decided. Any other: every name, as shown.\nWrite {"thought": "why", '
    '"answer": true} or {"thought": "why", "answer": ["Name"]}'
)
