"""Three more graphs as strangers bring them: a university's timetable in CSV tables, wildlife as
N-Triples of an ontology's kind (`hasX`, `isXOf`), a power grid as a Neo4j export."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import cities, people
from benchmarks.foreign_schemas import Schema, as_linked_data, as_neo4j, as_tables, relations


def timetable(folder: Path) -> list[str]:
    rng = random.Random(81)
    folk, towns = people(120, rng), cities(10, rng)
    fields = (
        "Algebra",
        "Botany",
        "Chemistry",
        "Drawing",
        "Ethics",
        "Finance",
        "Geology",
        "History",
    )
    schema = Schema(
        {
            "course": [f"{field} {n}" for field in fields for n in ("I", "II", "III")],
            "lecturer": folk[:20],
            "student": folk[20:100],
            "room": [f"room {floor}{n:02}" for floor in (1, 2, 3) for n in range(1, 6)],
            "building": ["Main Hall", "Science Block", "Library Annex"],
            "faculty": ["Faculty of Arts", "Faculty of Science", "Business School"],
            "degree": ["BA Fine Art", "BSc Biology", "BSc Earth Science", "MBA", "MA Philosophy"],
            "ects": [str(n) for n in (3, 5, 6, 10)],
            "slot": [
                f"{day} {hour}" for day in ("Mon", "Tue", "Wed", "Thu") for hour in (9, 11, 14)
            ],
            "city": towns,
            "textbook": [f"{a} {b}" for a in ("Modern", "Basic", "Applied") for b in fields[:5]],
            "exam_type": ["written exam", "oral exam", "term paper"],
            "year": [str(y) for y in range(2015, 2024)],
            "club": ["chess club", "rowing club", "drama society", "debating society"],
        },
        relations(
            "course taught_by_lecturer_id lecturer",
            "course room_no room",
            "course time_slot slot",
            "course prereq_course course 1 0.6",
            "course required_reading textbook",
            "course num_ects ects",
            "course assessed_through exam_type",
            "course counts_towards degree 2",
            "lecturer home_faculty faculty",
            "lecturer office_in building",
            "lecturer phd_supervisor lecturer 1 0.6",
            "lecturer joined year",
            "lecturer substitutes_for lecturer 1 0.4",
            "student enrolled_in_course course 3",
            "student studies_for_degree degree",
            "student lives_off_campus_in city 1 0.5",
            "student personal_tutor lecturer",
            "student captain_of_club club 1 0.1",
            "student belongs_to_club club 1 0.6",
            "student lab_partner student 1 0.4",
            "room bldg building",
            "building occupied_by faculty",
            "building opened year",
            "faculty dean lecturer",
            "club meets_in_room room",
            "club faculty_advisor lecturer",
        ),
        seed=81,
    )
    return as_tables(folder, schema)


def wildlife(folder: Path) -> list[str]:
    rng = random.Random(82)
    firsts = ("Grey", "Lesser", "Giant", "Spotted", "Marsh")
    schema = Schema(
        {
            "Mammal": [f"{a} {b}" for a in firsts for b in ("Otter", "Shrew", "Badger", "Lynx")],
            "Bird": [f"{a} {b}" for a in firsts for b in ("Heron", "Rail", "Owl", "Finch")],
            "Plant": [
                f"{a} {b}" for a in ("Water", "Red", "Bog") for b in ("Sedge", "Mint", "Alder")
            ],
            "Parasite": ["liver fluke", "feather louse", "lungworm", "wing mite"],
            "Wetland": ["Orl Marsh", "Lisk Fen", "Tave Delta", "Mirow Bog", "Senna Reeds"],
            "Reserve": ["Lakeside Reserve", "Northern Wilds", "Delta Park"],
            "Naturalist": people(14, rng),
            "Threat": ["drainage", "road traffic", "hunting", "pesticides"],
            "Status": ["endangered", "near threatened", "least concern"],
            "Treaty": ["Fen Convention", "Varn Accord", "Migratory Birds Act"],
            "Call": ["trill", "whistle", "bark", "hoot"],
        },
        relations(
            "Mammal hasPredator Mammal 1 0.5",
            "Mammal feedsUpon Plant 1 0.5",
            "Mammal isFoundIn Wetland 2",
            "Mammal isThreatenedBy Threat 2",
            "Mammal hasConservationStatus Status",
            "Mammal competesForFoodWith Mammal 1 0.4",
            "Mammal wasReintroducedTo Reserve 1 0.4",
            "Bird preysUpon Mammal 1 0.5",
            "Bird nestsAmong Plant 1 0.8",
            "Bird breedsIn Wetland",
            "Bird wintersIn Wetland 1 0.7",
            "Bird hasCall Call",
            "Bird isProtectedUnder Treaty 1 0.6",
            "Bird isOftenMistakenFor Bird 1 0.5",
            "Parasite isParasiteOf Mammal 2",
            "Parasite infests Bird 2",
            "Plant isEndemicTo Wetland",
            "Plant growsAlongside Plant 1 0.5",
            "Plant hasMedicinalUseAgainst Parasite 1 0.5",
            "Wetland liesWithin Reserve",
            "Wetland drainsInto Wetland 1 0.6",
            "Reserve hasWarden Naturalist",
            "Reserve wasEstablishedUnder Treaty",
            "Naturalist firstDescribed Bird 1 0.8",
            "Naturalist isPupilOf Naturalist 1 0.5",
            "Naturalist ledExpeditionTo Wetland 1 0.8",
        ),
        seed=82,
    )
    base = "http://wild.example/"
    return as_linked_data(folder, schema, f"{base}data/", f"{base}onto#", f"{base}onto#")


def grid(folder: Path) -> list[str]:
    rng = random.Random(83)
    towns, folk = cities(16, rng), people(40, rng)
    schema = Schema(
        {
            "Substation": [f"{town} substation" for town in towns[:10]],
            "Feeder": [f"feeder {n}" for n in range(11, 41)],
            "Transformer": [f"T-{n}" for n in range(200, 226)],
            "Breaker": [f"breaker {n}" for n in range(70, 90)],
            "Meter": [f"meter {n}" for n in range(5001, 5050)],
            "Household": [
                f"the {name.split()[-1]} household no. {k}" for k, name in enumerate(folk)
            ],
            "Technician": folk[:16],
            "Outage": [f"outage {n}" for n in range(1, 31)],
            "Manufacturer": ["Norvolt", "Ostra Electric", "Tave Power", "Calder"],
            "Town": towns,
            "Cause": ["lightning", "fallen tree", "overload", "rodent", "ice storm"],
            "WindFarm": [f"{town} Ridge" for town in towns[10:14]],
            "Depot": ["depot East", "depot West", "depot Quay"],
        },
        relations(
            "Substation SUPPLIES_TOWN Town",
            "Substation INTERCONNECTED_WITH Substation 1 0.7",
            "Feeder ORIGINATES_AT Substation",
            "Feeder TIES_TO Feeder 1 0.5",
            "Transformer FED_BY Feeder",
            "Transformer MADE_BY Manufacturer",
            "Transformer LAST_INSPECTED_BY Technician 1 0.8",
            "Transformer SPARE_FOR Transformer 1 0.3",
            "Breaker PROTECTS Feeder",
            "Breaker TRIPPED_DURING Outage 1 0.8",
            "Meter READS Household",
            "Meter DOWNSTREAM_OF Transformer",
            "Meter INSTALLED_BY Technician",
            "Household LOCATED_IN Town",
            "Household REPORTED Outage 1 0.5",
            "Outage CAUSED_BY Cause",
            "Outage AFFECTED_FEEDER Feeder",
            "Outage RESTORED_BY Technician",
            "Outage LED_TO Outage 1 0.3",
            "Technician STATIONED_AT Depot",
            "Technician CREW_LEAD Technician 1 0.6",
            "Technician QUALIFIED_ON Manufacturer 1 0.7",
            "WindFarm FEEDS_INTO Substation",
            "WindFarm TURBINES_FROM Manufacturer",
            "Depot COVERS Town 4",
        ),
        seed=83,
    )
    return as_neo4j(folder, schema)


SIXTH: dict[str, Callable[..., list[str]]] = {
    **{"timetable": timetable, "wildlife": wildlife, "grid": grid},
}
