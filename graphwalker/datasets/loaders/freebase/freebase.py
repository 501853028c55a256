"""What datasets over Freebase share: topic entities by MID, answers by kind, MIDs in SPARQL."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, ValidationInfo

from graphwalker.datasets import records
from graphwalker.datasets.answers import freebase_id, literal, need_freebase_id
from graphwalker.errors import UserError
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer

_MID = re.compile(r"\b(?:ns:|:|<http://rdf\.freebase\.com/ns/)([mg]\.[0-9a-z_]+)>?")
_FILTER = re.compile(r"FILTER\s*\([^()]*\)")
# The kind of answer that CWQ and WebQSP ask for; nobody names it as a topic.
_KIND = re.compile(r"common\.topic\.notable_types>?\s+\S+")
_NO_NAME = re.compile(r"https?://www\.wikidata\.org/entity/\S+")


def _id_of_entity(text: str, info: ValidationInfo) -> str:
    """Return whether the field names an entity, which the fields before it say."""
    named = "entity" in (str(value).lower() for value in info.data.values())
    return need_freebase_id(text) if named else text


FreebaseId = Annotated[records.Text, AfterValidator(need_freebase_id)]
EntityId = Annotated[records.Key, AfterValidator(_id_of_entity)]
Topics = dict[str, records.AnyText]
"""`{mid: name}`"""


class GivenAnswer(records.Nested):
    """An answer as WebQSP and GrailQA write it."""

    kind: Literal["Entity", "Value"] = records.published_as("AnswerType", "answer_type")
    argument: EntityId = records.published_as("AnswerArgument", "answer_argument")
    name: records.MaybeText = records.published_as("EntityName", "entity_name", default="")

    def answer(self) -> Answer:
        """Return the entity, or the value as a literal."""
        return Answer(self.name, self.argument) if self.kind == "Entity" else literal(self.argument)


def topics(mapping: Mapping[str, str], field: str = "topic_entity") -> tuple[Entity, ...]:
    """`{mid: name}`; a key that is the name itself gives an entity without an id."""
    return tuple(_topic(key, name, field) for key, name in mapping.items())


def _topic(key: str, name: str, field: str) -> Entity:
    mid, bare = freebase_id(key), name.strip()
    if mid:
        # Some names in circulation are the address of the item in Wikidata: no name at all.
        return Entity(mid, "" if _NO_NAME.fullmatch(bare) else bare)
    if key != name or not bare:
        raise UserError(f"field {f'{field}.{key}'!r} must be keyed by a Freebase id")
    return Entity("", bare)


def sparql_topics(sparql: str, answers: frozenset[str]) -> tuple[Entity, ...]:
    """Return the MIDs that a query starts from, in order, without names, answers and kinds.

    >>> sparql_topics("FILTER (?x != ns:m.0a) ns:m.0a ns:b.c.d ?x . ?x ns:e.f.g ns:m.0h", set())
    (Entity(id='m.0a', name=''), Entity(id='m.0h', name=''))
    """
    bare = _KIND.sub(" ", _FILTER.sub(" ", sparql))
    found = dict.fromkeys(_MID.findall(bare))
    return tuple(Entity(mid) for mid in found if mid not in answers)
