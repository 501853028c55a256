"""Names: how two of them are compared, and which of them name nothing."""

import re
from unicodedata import normalize
from urllib.parse import unquote

_MID = re.compile(r"[mg]\.[0-9a-z_]+")
_CONCEPT = re.compile(r"/c/[a-z]{2,3}/([^/]+)")
"""ConceptNet's ids: behind the term may stand what kind of word it is."""


def fold(name: str) -> str:
    """Return the form under which unequal names match: NFKC, case-folded, white space folded."""
    text = name if name.isascii() else normalize("NFKC", name)
    return " ".join(text.casefold().split())


def names_nothing(name: str) -> bool:
    """True where there is no name, or only a Freebase id in its place (GraphWalker's CVT test)."""
    return not name or (name[1:2] == "." and _MID.fullmatch(name) is not None)


def name_of_id(entity_id: str) -> str:
    """Return what an entity is called in a graph without names: its id, where that is no MID."""
    return "" if names_nothing(entity_id) else entity_id


def local_name(entity_id: str) -> str:
    """Return what an id says by its last part, `""` where that is nothing (a MID, a blank node).

    >>> local_name("http://yago-knowledge.org/resource/Anna_Weber")
    'Anna Weber'
    """
    if names_nothing(entity_id) or entity_id.startswith("_:"):
        return ""
    concept = _CONCEPT.match(entity_id)
    last = concept[1] if concept else re.split(r"[/#]", entity_id.rstrip("/#"))[-1]
    if last == entity_id:
        last = re.sub(r"^[a-z][a-z0-9]*:(?=\w)", "", last)  # `dbr:Anna_Weber`
    return " ".join(unquote(last).replace("_", " ").split()) or entity_id
