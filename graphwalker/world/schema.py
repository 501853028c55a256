"""The schema of the fictional world: real Freebase relations between its kinds of entities.

A table of facts, read top to bottom. `share` is the probability that an entity has the relation at
all and `most` the largest number of tails, so that no entity has everything: what a vague phrase
means is then settled by what the graph holds. `skew` above 1 makes hubs.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fact:
    """A plain relation. `target` is a kind, a kind with a role (`person/director`), or a literal
    (`date`, `integer`, `height`); `roles` limits who has it; `inverse` is the id of its inverse."""

    relation: str
    source: str
    target: str
    share: float = 1.0
    most: int = 1
    skew: float = 1.0
    roles: tuple[str, ...] = ()
    inverse: str = ""


@dataclass(frozen=True, slots=True)
class Slot:
    """One relation from a mediator (CVT) node to a value."""

    relation: str
    target: str
    share: float = 1.0
    skew: float = 1.0


@dataclass(frozen=True, slots=True)
class MediatorFact:
    """A relation to unnamed CVT nodes. `home` leads back from the node to its source, and `back`
    from the first slot's value to the node (Freebase stores both ways round)."""

    relation: str
    source: str
    slots: tuple[Slot, ...]
    share: float = 1.0
    most: int = 1
    roles: tuple[str, ...] = ()
    home: str = ""
    back: str = ""


CREATIVE = ("actor", "director", "writer", "producer", "author", "musician", "composer")
SCREEN = ("director", "writer", "producer", "actor")

FACTS: tuple[Fact, ...] = (
    # people
    Fact(
        *("people.person.place_of_birth", "person", "city", 0.85, 1, 1.6),
        inverse="location.location.people_born_here",
    ),
    Fact("people.person.nationality", "person", "country", 0.8, 1, 2.0),
    Fact("people.person.profession", "person", "profession", 0.9, 2),
    Fact("people.person.religion", "person", "religion", 0.3, 1, 1.5),
    Fact("people.person.languages", "person", "language", 0.3, 2, 1.8),
    Fact("people.person.date_of_birth", "person", "date", 0.8),
    Fact("people.person.height_meters", "person", "height", 0.3),
    Fact("people.deceased_person.place_of_death", "person", "city", 0.4, 1, 1.6),
    Fact("people.deceased_person.date_of_death", "person", "date", 0.4),
    # film
    Fact(
        *("film.film.directed_by", "film", "person/director", 0.95, 2, 1.2),
        inverse="film.director.film",
    ),
    Fact("film.film.written_by", "film", "person/writer", 0.85, 2, 1.2, inverse="film.writer.film"),
    Fact(
        *("film.film.produced_by", "film", "person/producer", 0.75, 2, 1.2),
        inverse="film.producer.film",
    ),
    Fact("film.film.edited_by", "film", "person/editor", 0.5, 1, 1.2),
    Fact("film.film.music", "film", "person/composer", 0.5, 1, 1.2),
    Fact("film.film.genre", "film", "film_genre", 0.95, 2, 1.4),
    Fact("film.film.country", "film", "country", 0.8, 1, 2.0),
    Fact("film.film.language", "film", "language", 0.6, 1, 2.0),
    Fact("film.film.initial_release_date", "film", "date", 0.8),
    Fact("film.film.production_companies", "film", "company", 0.6, 2, 1.2),
    Fact("film.film.featured_film_locations", "film", "city", 0.4, 2, 1.3),
    Fact("film.film.sequel", "film", "film", 0.12, inverse="film.film.prequel"),
    Fact("media_common.adaptation.adapted_from", "film", "book", 0.25),
    # location
    Fact(
        *("location.location.containedby", "city", "region"),
        inverse="location.location.contains",
    ),
    Fact("location.administrative_division.country", "region", "country"),
    Fact("location.location.area", "region", "integer", 0.7),
    Fact("location.country.capital", "country", "city"),
    Fact("location.country.official_language", "country", "language", 1.0, 2, 1.2),
    Fact("location.country.currency_used", "country", "currency", 1.0, 1, 1.3),
    Fact("location.country.form_of_government", "country", "government", 0.9),
    Fact(
        *("location.location.containedby", "arena", "city", 0.9),
        inverse="location.location.contains",
    ),
    # organization
    Fact(
        *("organization.organization.founders", "company", "person/executive", 0.8, 3, 1.2),
        inverse="organization.organization_founder.organizations_founded",
    ),
    Fact("organization.organization.date_founded", "company", "date", 0.8),
    Fact("organization.organization.place_founded", "company", "city", 0.6, 1, 1.4),
    Fact("business.business_operation.industry", "company", "industry", 0.9, 2, 1.3),
    Fact(
        *("organization.organization.founders", "school", "person/executive", 0.5, 1, 1.2),
        inverse="organization.organization_founder.organizations_founded",
    ),
    Fact("organization.organization.date_founded", "school", "date", 0.8),
    Fact(
        *("organization.organization.founders", "party", "person/politician", 0.9, 2, 1.2),
        inverse="organization.organization_founder.organizations_founded",
    ),
    # sports
    Fact("sports.sports_team.sport", "team", "sport", 1.0, 1, 1.3),
    Fact("sports.sports_team.location", "team", "city", 0.9, 1, 1.4),
    Fact(
        *("sports.sports_team.arena_stadium", "team", "arena", 0.8),
        inverse="sports.sports_facility.teams",
    ),
    Fact("sports.sports_team.founded", "team", "date", 0.7),
    Fact(
        *("sports.professional_sports_team.owner_s", "team", "person/executive", 0.7, 2, 1.2),
        inverse="sports.sports_team_owner.teams_owned",
    ),
    Fact("sports.sports_league.sport", "league", "sport"),
    Fact("sports.pro_athlete.career_start", "person", "date", 0.5, roles=("athlete",)),
    # music
    Fact("music.artist.origin", "band", "city", 0.8, 1, 1.4),
    Fact("music.artist.genre", "band", "music_genre", 0.9, 2, 1.3),
    Fact("music.artist.label", "band", "label", 0.7, 1, 1.3),
    Fact("music.artist.active_start", "band", "date", 0.6),
    Fact("music.album.artist", "album", "band", 1.0, 1, 1.1, inverse="music.artist.album"),
    Fact("music.album.genre", "album", "music_genre", 0.7, 1, 1.3),
    Fact("music.album.release_date", "album", "date", 0.8),
    Fact("music.composition.composer", "song", "person/composer", 0.9, 2, 1.2),
    Fact("music.composition.lyricist", "song", "person/musician", 0.8, 1, 1.2),
    Fact("music.composition.recorded_as_album", "song", "album", 0.7, 1),
    Fact("music.composition.language", "song", "language", 0.5, 1, 1.8),
    Fact(
        *("music.group_member.instruments_played", "person", "instrument", 0.9, 2, 1.2),
        roles=("musician",),
    ),
    # book
    Fact(
        *("book.written_work.author", "book", "person/author", 0.95, 2, 1.2),
        inverse="book.author.works_written",
    ),
    Fact("book.written_work.editor", "book", "person/editor", 0.6, 1, 1.2),
    Fact("book.book.interior_illustrations_by", "book", "person/author", 0.3, 1, 1.2),
    Fact("book.book.genre", "book", "book_genre", 0.9, 2, 1.3),
    Fact("book.written_work.original_language", "book", "language", 0.7, 1, 1.8),
    Fact("book.written_work.date_of_first_publication", "book", "date", 0.8),
    Fact("book.written_work.part_of_series", "book", "series", 0.35),
    Fact("book.written_work.next_in_series", "book", "book", 0.12),
    # education
    Fact("education.educational_institution.sports_teams", "school", "team", 0.3),
    # government
    Fact("government.political_party.ideology", "party", "ideology", 0.9, 2),
    # award
    Fact("award.award.presented_by", "award", "company", 0.8),
    Fact("award.award_category.date_established", "award", "date", 0.7),
)

MEDIATED: tuple[MediatorFact, ...] = (
    MediatorFact(
        "people.person.places_lived",
        "person",
        (Slot("people.place_lived.location", "city", skew=1.4),),
        *(0.45, 2),
    ),
    MediatorFact(
        "people.person.education",
        "person",
        (
            Slot("education.education.institution", "school", skew=1.3),
            Slot("education.education.degree", "degree", 0.5),
            Slot("education.education.major_field_of_study", "field", 0.5),
        ),
        *(0.5, 2),
    ),
    MediatorFact(
        "people.person.employment_history",
        "person",
        (Slot("business.employment_tenure.company", "company"),),
        *(0.3, 2),
        roles=("executive", "editor", "writer", "author", "coach", "politician"),
    ),
    MediatorFact(
        "film.film.starring",
        "film",
        (Slot("film.performance.actor", "person/actor", skew=1.2),),
        *(0.95, 4),
        home="film.performance.film",
        back="film.actor.film",
    ),
    MediatorFact(
        "award.award_winner.awards_won",
        "person",
        (
            Slot("award.award_honor.award", "award", skew=1.3),
            Slot("award.award_honor.year", "year", 0.7),
        ),
        *(0.35, 2),
        roles=CREATIVE,
    ),
    MediatorFact(
        "award.award_nominee.award_nominations",
        "person",
        (
            Slot("award.award_nomination.award", "award", skew=1.3),
            Slot("award.award_nomination.nominated_for", "film", 0.8),
        ),
        *(0.3, 2),
        roles=SCREEN,
    ),
    MediatorFact(
        "government.politician.government_positions_held",
        "person",
        (
            Slot("government.government_position_held.office_position_or_title", "office"),
            Slot("government.government_position_held.jurisdiction_of_office", "region", 0.9),
            Slot("government.government_position_held.from", "date", 0.6),
        ),
        *(0.9, 2),
        roles=("politician",),
    ),
    MediatorFact(
        "government.politician.party",
        "person",
        (Slot("government.political_party_tenure.party", "party", skew=1.3),),
        0.9,
        roles=("politician",),
    ),
    MediatorFact(
        "sports.pro_athlete.teams",
        "person",
        (
            Slot("sports.sports_team_roster.team", "team"),
            Slot("sports.sports_team_roster.position", "position", 0.7),
        ),
        *(0.95, 2),
        roles=("athlete",),
    ),
    MediatorFact(
        "sports.sports_team.coaches",
        "team",
        (Slot("sports.sports_team_coach_tenure.coach", "person/coach"),),
        0.85,
    ),
    MediatorFact(
        "sports.sports_team.captains",
        "team",
        (Slot("sports.sports_team_captain_tenure.captain", "person/athlete"),),
        0.7,
    ),
    MediatorFact(
        "sports.sports_team.league",
        "team",
        (Slot("sports.sports_league_participation.league", "league"),),
        0.9,
    ),
    MediatorFact(
        "organization.organization.leadership",
        "company",
        (Slot("organization.leadership.person", "person/executive"),),
        *(0.7, 2),
    ),
    MediatorFact(
        "organization.organization.leadership",
        "school",
        (Slot("organization.leadership.person", "person/executive"),),
        0.7,
    ),
    MediatorFact(
        "organization.organization.board_members",
        "company",
        (Slot("organization.organization_board_membership.member", "person/executive"),),
        *(0.5, 3),
    ),
    MediatorFact(
        "organization.organization.headquarters",
        "company",
        (Slot("location.mailing_address.citytown", "city", skew=1.4),),
        0.8,
    ),
    MediatorFact(
        "organization.organization.headquarters",
        "school",
        (Slot("location.mailing_address.citytown", "city", skew=1.2),),
        0.9,
    ),
    MediatorFact(
        "organization.organization.headquarters",
        "label",
        (Slot("location.mailing_address.citytown", "city", skew=1.4),),
        0.9,
    ),
    MediatorFact(
        "organization.organization.parent",
        "company",
        (Slot("organization.organization_relationship.parent", "company", skew=1.3),),
        0.25,
    ),
    MediatorFact(
        "music.musical_group.member",
        "band",
        (
            Slot("music.group_membership.member", "person/musician"),
            Slot("music.group_membership.role", "instrument", 0.5),
        ),
        *(0.95, 4),
    ),
    MediatorFact(
        "location.statistical_region.population",
        "city",
        (Slot("measurement_unit.dated_integer.number", "integer"),),
        0.8,
    ),
    MediatorFact(
        "location.location.adjoin_s",
        "country",
        (Slot("location.adjoining_relationship.adjoins", "country"),),
        *(0.7, 2),
        home="location.adjoining_relationship.adjoins",
        back="location.location.adjoin_s",
    ),
)

PARENTS = Fact(
    *("people.person.parents", "person", "person", 0.55, 2), inverse="people.person.children"
)
"""Made by the family rules of the world, as are marriages: a person marries a neighbour in time."""

MARRIAGE = MediatorFact(
    "people.person.spouse_s",
    "person",
    (
        Slot("people.marriage.spouse", "person"),
        Slot("people.marriage.location_of_ceremony", "city", 0.5, 1.4),
        Slot("people.marriage.from", "date", 0.6),
    ),
    0.5,
)

SIBLINGS = MediatorFact(
    "people.person.sibling_s",
    "person",
    (Slot("people.sibling_relationship.sibling", "person"),),
    0.25,
)


def relation_ids() -> list[str]:
    """Every relation id that a triple of the world may carry, sorted."""
    found = {fact.relation for fact in (*FACTS, PARENTS)}
    found |= {fact.inverse for fact in (*FACTS, PARENTS) if fact.inverse}
    for row in (*MEDIATED, MARRIAGE, SIBLINGS):
        found |= {row.relation, *(slot.relation for slot in row.slots)}
        found |= {name for name in (row.home, row.back) if name}
    return sorted(found)
