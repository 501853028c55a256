"""Terms of SPARQL: ids written as IRIs, answers read back as ids, which predicates name things."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from graphwalker.graphs.literals import is_literal, literal_id
from graphwalker.graphs.ntriples import FREEBASE, XSD_STRING

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"

Binding = Mapping[str, str]
"""One value of a SPARQL JSON answer: `type`, `value`, and `xml:lang` or `datatype`."""

PLAIN = "urn:graphwalker:"
"""Before the ids of a served graph that are no IRIs, nor look like Freebase's; and, with `%`
escapes, before those that no IRI can hold as they are."""
_TERMS = ("folded", "graph", "fingerprint", "triples", "sentinel")
RESERVED = frozenset(f"{PLAIN}{one}" for one in _TERMS)
"""Terms of ours in a Virtuoso; an id of that name is escaped."""
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|urn:")
_NOT_IN_AN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """How a graph writes ids, names and types. The defaults are Freebase's."""

    prefix: str = FREEBASE
    """Ids stand for IRIs behind this prefix; an id that is an IRI itself stands for itself."""
    name: str = "type.object.name"
    """The predicate that names entities."""
    type: str = "type.object.type"
    """The predicate that gives entities their types."""
    hidden: tuple[str, ...] = ("type.object.type", RDF_TYPE, RDFS_LABEL)
    """Predicates that are no relations, besides `name`."""
    languages: tuple[str, ...] = ("en", "")
    """Tags under which a name typed by an agent is looked up; `""` is a text without one.
    What is shown may be in any language, English first."""
    folded: str = "urn:graphwalker:folded"
    """The predicate of a graph's index of case-folded names, which `graphwalker virtuoso load`
    adds; without it only exact names are found."""

    def hides(self, relation: str) -> bool:
        """True for names and types, which are no relations."""
        return relation == self.name or relation in self.hidden or relation == self.folded

    def iri(self, node_id: str) -> str | None:
        """Return the id as `<IRI>`, escaped where no IRI can hold it (`graph serve` has such ids);
        `None` for a literal and what is no text.

        >>> Vocabulary().iri("m.0f8l9c"), Vocabulary().iri("born in")
        ('<http://rdf.freebase.com/ns/m.0f8l9c>', '<urn:graphwalker:born%20in>')
        """
        if not node_id or is_literal(node_id) or not _is_text(node_id):
            return None
        iri = node_id if is_absolute(node_id) else self.prefix + node_id
        return f"<{iri if is_plain(node_id) else escape_id(node_id)}>"

    def known_iri(self, node_id: str) -> str:
        """Return the same, for an id that is known to have one."""
        iri = self.iri(node_id)
        assert iri is not None, node_id
        return iri

    def node_id(self, binding: Binding) -> str:
        """Return the id of an answer's value."""
        value, kind = binding["value"], binding["type"]
        if kind == "uri":
            return unescape_id(value) or value.removeprefix(self.prefix) or value
        if kind == "bnode":
            return value if ":" in value else f"_:{value}"
        if tag := binding.get("xml:lang"):
            return literal_id(value, f"@{tag}")
        datatype = binding.get("datatype", XSD_STRING)
        return literal_id(value, "" if datatype == XSD_STRING else f"^^<{datatype}>")


def is_absolute(node_id: str) -> bool:
    """Return whether an id is an IRI itself."""
    return _ABSOLUTE.match(node_id) is not None


def is_plain(node_id: str) -> bool:
    """Return whether an IRI can hold the id as it is, and the id is no blank node."""
    if node_id.startswith(("_:", PLAIN)):
        return node_id in RESERVED
    return _NOT_IN_AN_IRI.search(node_id) is None


def escape_id(node_id: str) -> str:
    """Return an IRI for an id that none can hold as it is; one with a `%`.

    >>> escape_id("50% <off>"), escape_id("_:b0")
    ('urn:graphwalker:50%25%20%3Coff%3E', 'urn:graphwalker:%5F:b0')
    """
    escaped = quote(node_id, safe="!$&'()*+,/:;=?@")
    return PLAIN + (escaped if "%" in escaped else f"%{ord(node_id[0]):02X}{node_id[1:]}")


def unescape_id(iri: str) -> str | None:
    """Return the id of an IRI behind `PLAIN`, `None` of any other."""
    is_id = iri.startswith(PLAIN) and iri not in RESERVED
    return unquote(iri.removeprefix(PLAIN)) if is_id else None


def text(value: str, language: str = "") -> str | None:
    """Return a literal in SPARQL, escaped; `None` for half a surrogate pair, which no query holds.

    >>> text('say "hi"', "en")
    '"say \\\\"hi\\\\""@en'
    """
    if not _is_text(value):
        return None
    escaped = _CONTROL.sub(lambda m: f"\\u{ord(m[0]):04X}", value.translate(_QUOTED))
    return f'"{escaped}"' + (f"@{language}" if language else "")


def name_rank(binding: Binding) -> tuple[int, str]:
    """Among the names of one entity the least is shown: English, a dialect, none, any other."""
    tag = binding.get("xml:lang", "").lower()
    rank = 0 if tag == "en" else 1 if tag.startswith("en-") else 3 if tag else 2
    return rank, binding["value"]


def _is_text(value: str) -> bool:
    return _SURROGATE.search(value) is None
