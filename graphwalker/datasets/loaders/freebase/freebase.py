"""What the benchmarks over Freebase share: topic entities by MID, and MIDs inside SPARQL."""

import re

from graphwalker.datasets.answers import freebase_id
from graphwalker.datasets.fields import Field
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity

_MID = re.compile(r"\b(?:ns:|:|<http://rdf\.freebase\.com/ns/)([mg]\.[0-9a-z_]+)>?")
_FILTER = re.compile(r"FILTER\s*\([^()]*\)")
# The kind of answer that CWQ and WebQSP ask for; nobody names it as a topic.
_KIND = re.compile(r"common\.topic\.notable_types>?\s+\S+")
_NO_NAME = re.compile(r"https?://www\.wikidata\.org/entity/\S+")


def topics(mapping: Field) -> tuple[Entity, ...]:
    """`{mid: name}`; a key that is the name itself gives an entity without an id."""
    return tuple(_topic(key, field) for key, field in mapping.entries().items())


def _topic(key: str, field: Field) -> Entity:
    name, mid = field.string().strip(), freebase_id(key)
    if mid:
        # Some names in circulation are the address of the item in Wikidata: no name at all.
        return Entity(mid, "" if _NO_NAME.fullmatch(name) else name)
    if key != field.value or not name:
        raise UserError(f"field {field.path!r} must be keyed by a Freebase id")
    return Entity("", name)


def sparql_topics(sparql: str, answers: frozenset[str]) -> tuple[Entity, ...]:
    """The MIDs that a query starts from, in order, without names. Answers and kinds are left out.

    >>> sparql_topics("FILTER (?x != ns:m.0a) ns:m.0a ns:b.c.d ?x . ?x ns:e.f.g ns:m.0h", set())
    (Entity(id='m.0a', name=''), Entity(id='m.0h', name=''))
    """
    bare = _KIND.sub(" ", _FILTER.sub(" ", sparql))
    found = dict.fromkeys(_MID.findall(bare))
    return tuple(Entity(mid) for mid in found if mid not in answers)
