"""Invented names: bounded lists of made-up words, put together into names of one to three words."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_ONSETS = (
    *("b", "br", "c", "d", "dr", "f", "g", "gl", "h", "j", "k", "kr", "l", "m", "n", "p"),
    *("r", "s", "sk", "st", "t", "tr", "v", "w", "z", "th", "sh"),
)
_VOWELS = ("a", "e", "i", "o", "u", "a", "e", "i", "o", "ai", "ia", "eo")
_CODAS = ("", "", "", "l", "n", "r", "s", "m", "nd", "rn", "x", "th")
_FIRST_ENDINGS = ("a", "en", "ia", "o", "is", "ek", "ine", "or", "ette", "an", "us", "il")
_SURNAME_ENDINGS = ("sen", "ov", "wick", "ane", "ard", "escu", "mar", "ley", "oza", "ett", "berg")
_PLACE_ENDINGS = ("ton", "burg", "holm", "mere", "dale", "ova", "port", "ford", "gard", "vik")
_LAND_ENDINGS = ("ia", "land", "stan", "ora", "mark", "essa")
_ACCENTS = str.maketrans("aeiou", "áéíöü")

_ADJECTIVES = (
    *("Silent", "Golden", "Broken", "Distant", "Crimson", "Hollow", "Winter", "Burning", "Hidden"),
    *("Pale", "Restless", "Scarlet", "Gentle", "Frozen", "Wandering", "Lonely", "Bright", "Bitter"),
    *("Iron", "Velvet", "Ancient", "Second", "Paper", "Glass", "Northern", "Stolen", "Quiet"),
    *("Electric", "Faded", "Salted", "Copper", "Endless", "Rusty", "Tender", "Wild", "Amber"),
)
_NOUNS = (
    *("Orchard", "Lantern", "Harbor", "River", "Mirror", "Garden", "Crown", "Window", "Letter"),
    *("Island", "Shadow", "Bridge", "Feather", "Compass", "Valley", "Clock", "Forest", "Ladder"),
    *("Station", "Meadow", "Candle", "Anchor", "Marble", "Raven", "Thunder", "Voyage", "Tower"),
    *("Rose", "Engine", "Needle", "Canyon", "Comet", "Desert", "Echo", "Ember", "Falcon"),
    *("Horizon", "Kingdom", "Locket", "Maze", "Oath", "Pearl", "Quarry", "Ribbon", "Sparrow"),
    *("Tide", "Violet", "Whisper", "Arrow", "Bell"),
)
_BANDS = tuple(
    f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    for noun in _NOUNS
    if noun not in ("Compass", "Bridge", "Engine")
)
_ANIMALS = ("Falcons", "Bears", "Herons", "Wolves", "Otters", "Stags", "Rams", "Lynxes", "Hawks")
_TRADES = ("Works", "Group", "Partners", "Industries", "Holdings", "Brothers", "Trading", "Labs")
_SCHOOLS = ("University", "College", "Institute", "Academy")
_HALLS = ("Arena", "Stadium", "Park", "Dome")
_PRIZES = ("Prize", "Medal", "Award", "Trophy")
_CAUSES = ("Unity", "Liberty", "Progress", "Heritage", "Labour", "Reform")
_COINS = ("crown", "mark", "dinar", "florin", "taler")
_REAL = {"Women", "Salad", "Person", "Sister", "Dialect", "Titan"}
_PREFIXES = ("New", "Port", "East", "Upper", "Lake", "Mount")


@dataclass(frozen=True, slots=True)
class Words:
    """The word lists of one world; their length grows with its root, so names stay as shared."""

    first: tuple[str, ...]
    surname: tuple[str, ...]
    place: tuple[str, ...]
    land: tuple[str, ...]


def make_words(entities: int, seed: int) -> Words:
    """Word lists for a world of that size; no word stands in two lists."""
    rng, taken = random.Random(f"words {seed}"), set[str]()
    root = max(1.0, (entities / 3000) ** 0.5)

    def words(count: float, endings: tuple[str, ...], accents: float = 0.0) -> tuple[str, ...]:
        return tuple(_word(rng, endings, taken, accents) for _ in range(int(count)))

    return Words(
        first=words(110 * root, _FIRST_ENDINGS, 0.03),
        surname=words(150 * root, _SURNAME_ENDINGS, 0.03),
        place=words(220 * root, _PLACE_ENDINGS),
        land=words(400, _LAND_ENDINGS),
    )


def _word(rng: random.Random, endings: tuple[str, ...], taken: set[str], accents: float) -> str:
    while True:
        syllables = 1 if rng.random() < 0.7 else 2
        stem = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables))
        word = stem + rng.choice(_CODAS) + rng.choice(endings)
        if word[len(stem) - 1] in "aeiou" and word[len(stem)] in "aeiou":
            word = stem + rng.choice("lnrvd") + word[len(stem) :]
        if rng.random() < accents:
            place = next(i for i, letter in enumerate(word) if letter in "aeiou")
            word = word[:place] + word[place].translate(_ACCENTS) + word[place + 1 :]
        word = word.capitalize()
        if 4 <= len(word) <= 10 and word not in taken and word not in _REAL:
            taken.add(word)
            return word


def _person(words: Words, rng: random.Random, _: int) -> str:
    surname = rng.choice(words.surname)
    if rng.random() < 0.03:
        surname = f"O'{surname}"
    if rng.random() < 0.04:
        return f"{rng.choice(words.first)} {rng.choice(words.first)} {surname}"
    return f"{rng.choice(words.first)} {surname}"


def _title(words: Words, rng: random.Random, _: int) -> str:
    form, noun = rng.random(), rng.choice(_NOUNS)
    if form < 0.6:
        return f"{rng.choice(_ADJECTIVES)} {noun}"
    if form < 0.66:
        return f"The {rng.choice(_ADJECTIVES)} {noun}"
    if form < 0.7:
        return f"{rng.choice(words.first)}'s {noun}"
    return f"{rng.choice(words.place)} {noun}"


def _city(words: Words, rng: random.Random, _: int) -> str:
    place = rng.choice(words.place)
    return f"{rng.choice(_PREFIXES)} {place}" if rng.random() < 0.35 else place


def _country(words: Words, _: random.Random, offset: int) -> str:
    return words.land[offset % len(words.land)]


def _language(words: Words, _: random.Random, offset: int) -> str:
    land = words.land[-1 - offset % len(words.land)]
    return f"{land.rstrip('aeiou')}ish"


def _band(words: Words, rng: random.Random, _: int) -> str:
    if rng.random() < 0.2:
        return f"The {rng.choice(_ADJECTIVES)} {rng.choice(_BANDS)}"
    return f"{rng.choice(words.place)} {rng.choice(_BANDS)}"


def _join(part: str, endings: tuple[str, ...]) -> Callable[[Words, random.Random, int], str]:
    def name(words: Words, rng: random.Random, _: int) -> str:
        return f"{rng.choice(getattr(words, part))} {rng.choice(endings)}"

    return name


NAMERS: Mapping[str, Callable[[Words, random.Random, int], str]] = {
    "person": _person,
    "film": _title,
    "book": _title,
    "album": _title,
    "song": _title,
    "series": _join("place", ("Chronicles", "Cycle", "Saga", "Tales")),
    "band": _band,
    "city": _city,
    "region": _join("place", ("County", "Province", "Shire", "Valley")),
    "country": _country,
    "company": _join("surname", _TRADES),
    "school": _join("place", _SCHOOLS),
    "team": _join("place", _ANIMALS),
    "arena": _join("surname", _HALLS),
    "league": _join("land", ("League", "Cup League", "Premier League")),
    "party": _join("land", tuple(f"{cause} Party" for cause in _CAUSES)),
    "label": _join("surname", ("Records", "Sound", "Music")),
    "award": _join("surname", _PRIZES),
    "currency": _join("land", _COINS),
    "language": _language,
}
"""How an entity of each kind is named, from its own generator and its place among its kind."""
