"""Three more graphs as strangers bring them: a social network as a Neo4j export, manuscripts and
their owners as N-Triples, a town's building permits in CSV tables."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import cities, people, titles
from benchmarks.foreign_schemas import Schema, as_linked_data, as_neo4j, as_tables, relations


def social(folder: Path) -> list[str]:
    rng = random.Random(111)
    folk, towns = people(80, rng), cities(10, rng)
    schema = Schema(
        {
            "User": folk,
            "Post": [f"post {n}" for n in range(700, 790)],
            "Group": [f"{t} Circle" for t in titles(12, rng)],
            "Hashtag": ["#slowfood", "#trailrun", "#lofi", "#chess", "#retro", "#diy"],
            "Event": [f"Meetup {town}" for town in towns],
            "City": towns,
            "Page": ["Daily Ferry", "Kettle News", "Orl Radio", "Penny Press"],
            "Badge": ["early bird", "top fan", "helper"],
            "App": ["WebApp", "PhoneApp", "Deskbot"],
        },
        relations(
            "User FOLLOWS User 2",
            "User BLOCKED User 1 0.2",
            "User POSTED Post 1 0.9",
            "User LIKED Post 2",
            "User SHARED Post 1 0.5",
            "User JOINED Group",
            "User MODERATES Group 1 0.2",
            "User RSVPD_TO Event 1 0.5",
            "User HOMETOWN City",
            "User EARNED_BADGE Badge 1 0.5",
            "User INVITED_BY User 1 0.5",
            "Post TAGGED_WITH Hashtag",
            "Post REPLY_TO Post 1 0.4",
            "Post SENT_FROM App",
            "Post PINNED_IN Group 1 0.2",
            "Post MENTIONS_PAGE Page 1 0.4",
            "Group ABOUT Hashtag",
            "Group FOUNDER User",
            "Group SISTER_GROUP_OF Group 1 0.4",
            "Event TAKES_PLACE_IN City",
            "Event HOSTED_BY Group",
            "Page RUN_BY User",
            "Page ADVERTISES_ON App",
        ),
        seed=111,
    )
    return as_neo4j(folder, schema, "title")


def manuscripts(folder: Path) -> list[str]:
    rng = random.Random(112)
    folk, towns = people(60, rng), cities(14, rng)
    schema = Schema(
        {
            "Manuscript": [f"Codex {n}" for n in range(1, 41)],
            "Scribe": folk[:15],
            "Collector": folk[15:40],
            "Author": folk[40:],
            "Work": titles(30, rng),
            "Library": [f"{town} Library" for town in towns[:8]],
            "Monastery": [f"{town} Priory" for town in towns[6:]],
            "Town": towns,
            "Language": ["Old Mersian", "Taulic", "Church Volgan"],
            "Century": [f"{n}th century" for n in (9, 10, 12, 13, 14)],
            "Material": ["vellum", "rag paper", "papyrus"],
            "Pigment": ["azurite", "gold leaf", "red lead", "verdigris"],
        },
        relations(
            "Manuscript copiedBy Scribe",
            "Manuscript containsTextOf Work 2",
            "Manuscript heldAt Library",
            "Manuscript shelfmarkLanguage Language 1 0.4",
            "Manuscript writtenOn Material",
            "Manuscript decoratedWith Pigment 2",
            "Manuscript datesFrom Century",
            "Manuscript previousOwner Collector 2",
            "Manuscript boundTogetherWith Manuscript 1 0.3",
            "Manuscript isCopyOf Manuscript 1 0.4",
            "Manuscript wasStolenFrom Library 1 0.2",
            "Scribe trainedAtMonastery Monastery",
            "Scribe pupilOf Scribe 1 0.6",
            "Scribe activeDuring Century",
            "Collector bequeathedLibraryTo Town 1 0.4",
            "Collector corresponded_with Collector 1 0.6",
            "Collector hailedFrom Town",
            "Work attributedTo Author",
            "Work originalLanguage Language",
            "Work commentaryOn Work 1 0.4",
            "Work continuedBy Author 1 0.3",
            "Author memberOfOrderAt Monastery 1 0.7",
            "Author patron Collector 1 0.5",
            "Library librarian Collector",
            "Library cityOrTown Town",
            "Monastery motherHouse Monastery 1 0.7",
            "Monastery liesNear Town",
        ),
        seed=112,
    )
    base = "urn:codices:"
    return as_linked_data(folder, schema, f"{base}item:", f"{base}rel:", f"{base}class:")


def permits(folder: Path) -> list[str]:
    rng = random.Random(113)
    folk = people(100, rng)
    streets = ("Mill Lane", "Rose Street", "Dock Road", "Elm Grove", "Park Row", "Hill Road")
    schema = Schema(
        {
            "permit": [f"permit {n}/{y}" for y in (21, 22, 23) for n in range(11, 31)],
            "parcel": [f"{n} {street}" for street in streets for n in (1, 4, 8, 15, 22)],
            "applicant": folk[:45],
            "inspector": folk[45:57],
            "councillor": folk[57:70],
            "contractor": ["Holm Bau", "Brick & Sons", "Calder Roofs", "Norbuild", "Tave Paving"],
            "ward": ["Harbor Ward", "North Ward", "Mill Ward", "Hill Ward"],
            "committee": ["Planning Board", "Heritage Panel", "Works Committee"],
            "permit_kind": ["demolition", "extension", "new roof", "change of use"],
            "issued": [f"202{y}-0{m}-20" for y in (1, 2, 3) for m in (2, 4, 7)],
            "fee": ["85", "140", "600", "1200"],
            "zone": ["residential", "mixed use", "industrial"],
            "assoc": ["Friends of Mill Lane", "Quay Residents", "Green Hill Society"],
            "trade": ["masonry", "roofing", "plumbing"],
        },
        relations(
            "permit permit_type permit_kind",
            "permit filed_by applicant",
            "permit for_parcel parcel",
            "permit issue_date issued",
            "permit fee_eur fee",
            "permit contractor_id contractor 1 0.8",
            "permit insp_officer inspector",
            "permit approved_by_committee committee 1 0.7",
            "permit objected_to_by assoc 1 0.3",
            "permit supersedes_permit permit 1 0.2",
            "parcel ward_id ward",
            "parcel zoning zone",
            "parcel owned_jointly_by applicant 2",
            "parcel adjoins parcel 2",
            "parcel last_sold_in issued 1 0.5",
            "contractor licensed_for trade 2",
            "contractor site_foreman applicant",
            "contractor subcontracts_to contractor 1 0.6",
            "inspector assigned_ward ward",
            "inspector on_leave_until issued 1 0.3",
            "inspector stands_in_for inspector 1 0.5",
            "councillor elected_for ward",
            "councillor sits_on committee",
            "councillor spouse_of applicant 1 0.3",
            "committee chair councillor",
            "assoc spokesperson applicant",
            "assoc active_in ward 2",
        ),
        seed=113,
    )
    return as_tables(folder, schema)


NINTH: dict[str, Callable[..., list[str]]] = {
    **{"social": social, "manuscripts": manuscripts, "permits": permits},
}
