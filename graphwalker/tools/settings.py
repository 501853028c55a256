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
LONGEST_NAME = 2000


class WalkerSettings(Config):
    """Limits of the tools; the defaults are GraphWalker's."""

    top_relations: int = Field(default=20, ge=1)
    """Relations that get_relations shows, after BM25 ranking (GraphWalker Table 8)."""
    relations_per_call: int = Field(default=4, ge=1)
    """Relations that one get_triples uses, the first ones of its list."""
    triples_per_relation: int = Field(default=5, ge=1)
    """Triples shown for each relation and direction."""
    max_observation_chars: int | None = Field(default=None, ge=0)
    """Longest observation of one call, in characters; it is cut at an entry, with a mark. A name or
    literal of more than an eighth of it (40 to 2,000) is cut with its length. 0: no limit. By
    default 300 for each entry that the preset's own limits allow: 12,000 for `graphwalker`."""
    skip_relations: PlainTexts = BOOK_KEEPING
    """Relations never shown; `*` stands for anything. A flattened one is skipped by either half."""
    hide_inverse: bool = False
    """Leave out an incoming relation whose inverse is among the outgoing ones and says as much.
    Inverses are known where the layers name a `freebase_schema`."""

    @property
    def most_entries(self) -> int:
        """Relations or triples that one call shows at most."""
        triples = 2 * self.relations_per_call * self.triples_per_relation
        return max(self.top_relations, triples)

    @property
    def longest_name(self) -> int:
        """Characters of a name that are shown, so that one literal leaves room for others."""
        limit = self.max_observation_chars or 0
        return min(max(limit // 8, 40), LONGEST_NAME) if limit else 0

    @property
    def entry_chars(self) -> int:
        """Characters for the entries of an observation: room is left for ` (+1,000 or more)`."""
        limit = self.max_observation_chars or 0
        return max(limit - 24, limit // 2)
