"""Names: how two of them are compared, and which of them name nothing."""

import re
from unicodedata import normalize

_MID = re.compile(r"[mg]\.[0-9a-z_]+")


def fold(name: str) -> str:
    """The form under which unequal names match: NFKC, case-folded, white space folded."""
    text = name if name.isascii() else normalize("NFKC", name)
    return " ".join(text.casefold().split())


def names_nothing(name: str) -> bool:
    """True where there is no name, or only a Freebase id in its place (GraphWalker's CVT test)."""
    return not name or (name[1:2] == "." and _MID.fullmatch(name) is not None)
