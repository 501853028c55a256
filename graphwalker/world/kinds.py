"""The kinds of entities, and the layout of a world of a given size."""

import random
from dataclasses import dataclass
from functools import cached_property

from graphwalker.world.names import NAMERS, Words, make_words

ROLES = (
    *("actor", "writer", "director", "author", "athlete", "actor", "musician", "executive"),
    *("writer", "producer", "athlete", "politician", "actor", "author", "composer", "editor"),
    *("executive", "musician", "director", "coach", "producer", "athlete", "actor", "executive"),
)
"""Roles by position in a block of persons: a role's members are found without a list of them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of entity. Its number is `share` of the world, at least `least`, or a fixed `pool`."""

    types: tuple[str, ...]
    share: float = 0.0
    least: int = 2
    most: int = 10**9
    pool: tuple[str, ...] = ()


KINDS: dict[str, Kind] = {
    "person": Kind(("people.person",)),
    "film": Kind(("film.film", "award.award_winning_work"), 0.11),
    "book": Kind(("book.book", "book.written_work"), 0.07),
    "series": Kind(("book.literary_series",), 0.008),
    "album": Kind(("music.album",), 0.04),
    "song": Kind(("music.composition",), 0.04),
    "band": Kind(("music.musical_group", "music.artist"), 0.03),
    "city": Kind(("location.citytown", "location.location"), 0.07, 24),
    "region": Kind(("location.administrative_division", "location.location"), 0.016, 12, 20_000),
    "country": Kind(("location.country", "location.location"), 0.006, 8, 240),
    "company": Kind(("business.business_operation", "organization.organization"), 0.05),
    "school": Kind(("education.educational_institution", "organization.organization"), 0.02, 8),
    "team": Kind(("sports.sports_team", "organization.organization"), 0.025, 8),
    "arena": Kind(("sports.sports_facility", "location.location"), 0.01, 4),
    "league": Kind(("sports.sports_league",), 0.003, 4, 2_000),
    "party": Kind(("government.political_party", "organization.organization"), 0.004, 6, 2_000),
    "label": Kind(("music.record_label", "organization.organization"), 0.004, 4, 20_000),
    "award": Kind(("award.award",), 0.008, 8, 20_000),
    "currency": Kind(("finance.currency",), 0.003, 6, 120),
    "language": Kind(("language.human_language",), 0.006, 8, 200),
    "film_genre": Kind(
        ("film.film_genre",),
        pool=(
            *("drama", "comedy", "thriller", "western", "fantasy", "documentary", "musical"),
            *("romance", "adventure", "horror", "animation", "mystery", "satire", "noir"),
        ),
    ),
    "book_genre": Kind(
        ("media_common.literary_genre",),
        pool=(
            *("novella", "memoir", "poetry", "essay", "fable", "biography", "chronicle"),
            *("tragedy", "travelogue", "folklore", "detective fiction", "science fiction"),
        ),
    ),
    "music_genre": Kind(
        ("music.genre",),
        pool=(
            *("jazz", "folk", "blues", "soul", "techno", "reggae", "opera", "ambient"),
            *("gospel", "swing", "hip hop", "indie rock", "bluegrass", "disco"),
        ),
    ),
    "profession": Kind(
        ("people.profession",),
        pool=(
            *("actor", "film director", "novelist", "athlete", "musician", "business executive"),
            *("screenwriter", "film producer", "politician", "composer", "editor"),
            *("sports coach", "teacher", "lawyer", "painter", "journalist", "chef", "farmer"),
        ),
    ),
    "religion": Kind(
        ("religion.religion",),
        pool=("Solarism", "Tidewalking", "Emberfaith", "Quietism", "Moonwatch", "Harvestry"),
    ),
    "instrument": Kind(
        ("music.instrument",),
        pool=(
            *("violin", "cello", "piano", "guitar", "drums", "trumpet", "flute", "harp"),
            *("saxophone", "clarinet", "accordion", "banjo"),
        ),
    ),
    "degree": Kind(
        ("education.educational_degree",),
        pool=("bachelor of arts", "bachelor of science", "master of arts", "doctorate", "diploma"),
    ),
    "field": Kind(
        ("education.field_of_study",),
        pool=(
            *("history", "physics", "law", "medicine", "botany", "economics", "philosophy"),
            *("architecture", "chemistry", "linguistics", "geology", "astronomy"),
        ),
    ),
    "sport": Kind(
        ("sports.sport",),
        pool=("rowing", "handball", "ice hockey", "football", "cricket", "basketball", "rugby"),
    ),
    "position": Kind(
        ("sports.sports_position",),
        pool=("goalkeeper", "striker", "defender", "winger", "centre", "pitcher", "sweeper"),
    ),
    "office": Kind(
        ("government.government_office_or_title",),
        pool=("mayor", "governor", "senator", "minister", "president", "ambassador", "judge"),
    ),
    "industry": Kind(
        ("business.industry",),
        pool=(
            *("mining", "shipping", "banking", "textiles", "publishing", "aviation", "robotics"),
            *("brewing", "insurance", "forestry", "telecommunications", "glassmaking"),
        ),
    ),
    "ideology": Kind(
        ("government.political_ideology",),
        pool=("liberalism", "conservatism", "socialism", "environmentalism", "centrism"),
    ),
    "government": Kind(
        ("government.form_of_government",),
        pool=("republic", "monarchy", "federation", "city league", "confederation"),
    ),
}
"""Every kind; `person` fills what the others leave (about two fifths of a large world)."""


BLOCK = len(ROLES)
_SLOTS = {role: tuple(i for i, r in enumerate(ROLES) if r == role) for role in set(ROLES)}
_DIGITS = "0123456789bcdfghjklmnpqrstvwxyz_"


@dataclass(frozen=True, slots=True)
class Span:
    """The entities of one kind: `count` of them from index `start` on."""

    start: int
    count: int


@dataclass(frozen=True)
class World:
    """Which index is of which kind, and how an entity's facts are drawn. Holds no entities."""

    entities: int
    seed: int

    @cached_property
    def spans(self) -> dict[str, Span]:
        spans, start = dict[str, Span](), 0
        for name, kind in KINDS.items():
            if name == "person":
                continue
            count = len(kind.pool) or min(
                kind.most, max(kind.least, int(self.entities * kind.share))
            )
            spans[name] = Span(start, count)
            start += count
        spans["person"] = Span(start, self.entities - start)
        return spans

    @cached_property
    def words(self) -> Words:
        return make_words(self.entities, self.seed)

    def name(self, kind: str, offset: int) -> str:
        """Return the name of the entity at that place among its kind."""
        if KINDS[kind].pool:
            return KINDS[kind].pool[offset]
        index = self.spans[kind].start + offset
        return NAMERS[kind](self.words, self.rng(index, 1), offset)

    @cached_property
    def people(self) -> int:
        return self.spans["person"].count

    def rng(self, index: int, purpose: int) -> random.Random:
        """Return the generator of one entity for one purpose."""
        return random.Random((self.seed << 40) ^ (index << 4) ^ purpose)

    def entity_id(self, kind: str, offset: int) -> str:
        return f"m.0{_encode(self.spans[kind].start + offset)}"

    def mediator_id(self, index: int, number: int) -> str:
        """Return the id of an unnamed node: the `number`-th that entity `index` brings."""
        return f"m.1{_encode(index * 32 + number)}"

    def choose(self, target: str, skew: float, rng: random.Random) -> int:
        """Get the place of a random entity of a kind (`film`) or of a role (`person/director`)."""
        kind, _, role = target.partition("/")
        count, place = self.spans[kind].count, rng.random() ** skew
        if not role:
            return int(count * place)
        return int(count // BLOCK * place) * BLOCK + rng.choice(_SLOTS[role])

    def country_of(self, city: int) -> int:
        """Cities lie in regions, regions in countries, by turns: country k's capital is city k."""
        return city % self.spans["region"].count % self.spans["country"].count


def _encode(number: int) -> str:
    """Return a number in the letters of Freebase ids."""
    text = ""
    while True:
        number, digit = divmod(number, 32)
        text = _DIGITS[digit] + text
        if not number:
            return text
