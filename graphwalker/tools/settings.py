"""Settings of the walker's tools, with GraphWalker's numbers."""

from pydantic import Field

from graphwalker.config import Config
from graphwalker.trust import PlainTexts

# Book-keeping of Freebase, never the answer to a question. GraphWalker's whitelist hides a gold
# relation in 22 % of CWQ's questions; this list names only what no question asks for.
BOOK_KEEPING = (
    "type.object.*",
    "type.type.instance",
    "common.topic.alias",
    "common.topic.article",
    "common.topic.description",
    "common.topic.image",
    "common.topic.official_website",
    "common.topic.social_media_presence",
    "common.topic.topic_equivalent_webpage",
    "common.topic.topical_webpage",
    "common.topic.webpage",
    "common.document.*",
    "common.image.*",
    "common.webpage.*",
    "freebase.*",
    "kg.object_profile.*",
    "http://www.w3.org/*",
)


class WalkerSettings(Config):
    """Limits of the tools; the defaults are GraphWalker's."""

    top_relations: int = Field(default=20, ge=1)
    """Relations that get_relations shows, after BM25 ranking (GraphWalker Table 8)."""
    relations_per_call: int = Field(default=4, ge=1)
    """Relations that one get_triples uses, the first ones of its list."""
    triples_per_relation: int = Field(default=5, ge=1)
    """Triples shown for each relation and direction."""
    max_observation_chars: int = Field(default=0, ge=0)
    """Longest observation; it is cut at an entry, with a mark. 0: no limit. The note that a name
    has several bearers comes on top."""
    skip_relations: PlainTexts = BOOK_KEEPING
    """Relations never shown; `*` stands for anything. A flattened one is skipped by either half."""
    hide_inverse: bool = False
    """Leave out an incoming relation whose inverse is among the outgoing ones and says as much.
    Inverses are known where the layers name a `freebase_schema`."""
