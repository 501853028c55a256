"""Three more graphs as strangers bring them: a theatre company as a Neo4j export, newspapers and
their owners as N-Triples without types, a blood bank's CSV tables."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import cities, people, titles
from benchmarks.foreign_schemas import Schema, as_linked_data, as_neo4j, as_tables, relations


def theatre(folder: Path) -> list[str]:
    rng = random.Random(131)
    folk, names = people(100, rng), titles(50, rng)
    schema = Schema(
        {
            "Play": names[:30],
            "Production": [f"{name} ({y})" for name in names[:15] for y in (2011, 2019)],
            "Actor": folk[:50],
            "Playwright": folk[50:65],
            "Director": folk[65:77],
            "Patron": folk[77:],
            "Character": [
                f"{a} {b}" for a in ("Old", "Young", "Mad") for b in ("Tom", "Bess", "Duke")
            ],
            "Stage": ["Main Stage", "Studio", "Garden Stage", "Cellar"],
            "Prop": ["wooden sword", "lantern", "velvet chair", "stuffed owl", "mirror"],
            "Workshop": ["joinery", "wardrobe", "paint shop"],
            "Prize": ["Golden Mask", "Lamp Award"],
        },
        relations(
            "Play WRITTEN_BY Playwright",
            "Play HAS_CHARACTER Character 2",
            "Play ADAPTATION_OF Play 1 0.3",
            "Production STAGES Play",
            "Production DIRECTED_BY Director",
            "Production PREMIERED_ON Stage",
            "Production UNDERWRITTEN_BY Patron 1 0.6",
            "Production REQUIRES_PROP Prop 2",
            "Production REVIVAL_OF Production 1 0.3",
            "Actor CAST_IN Production 1",
            "Actor CAST_AS Character 1 0.6",
            "Actor UNDERSTUDY_TO Actor 1 0.4",
            "Actor AUDITIONED_FOR Production 1 0.5",
            "Actor LOST_ROLE_TO Actor 1 0.3",
            "Actor COACHED_BY Actor 1 0.5",
            "Director ASSISTED Director 1 0.5",
            "Director NOMINATED_FOR Prize 1 0.5",
            "Patron SEASON_TICKET_FOR Stage 1 0.6",
            "Patron FRIEND_OF_DIRECTOR Director 1 0.4",
            "Prop BUILT_IN Workshop",
            "Prop LOANED_BY Patron 1 0.6",
            "Playwright DISCIPLE_OF Playwright 1 0.6",
            "Workshop HEADED_BY Actor",
        ),
        seed=131,
    )
    return as_neo4j(folder, schema)


def newspapers(folder: Path) -> list[str]:
    rng = random.Random(132)
    folk, towns = people(70, rng), cities(16, rng)
    schema = Schema(
        {
            "paper": [f"{t} {k}" for t in towns[:12] for k in ("Herald", "Courier", "Post")],
            "holding": ["Norpress", "Calder Media", "Tave Group", "Orl Print"],
            "journalist": folk[:44],
            "mogul": folk[44:54],
            "politician": folk[54:],
            "town": towns,
            "party": ["Reform Union", "People's List", "Green Front"],
            "format": ["broadsheet", "tabloid", "web only"],
            "year": [str(y) for y in range(1860, 1980, 9)],
            "prize": ["Clear Pen", "Lomport Prize", "Watchdog Medal"],
            "press": ["press A", "press B", "press C"],
        },
        relations(
            "paper ownedBy holding",
            "paper publishedInTown town",
            "paper editorInChief journalist",
            "paper firstIssue year",
            "paper paperFormat format",
            "paper mergedInto paper 1 0.2",
            "paper endorsed politician 1 0.6",
            "paper printedOn press",
            "paper rivalPaper paper 1 0.5",
            "paper supplementOf paper 1 0.2",
            "holding majorityShareholder mogul",
            "holding headOffice town",
            "holding boughtOutBy holding 1 0.5",
            "journalist writesFor paper",
            "journalist bornIn town",
            "journalist exposed politician 1 0.5",
            "journalist wonPrizeFor paper 1 0.2",
            "journalist receivedPrize prize 1 0.3",
            "journalist learnedTradeFrom journalist 1 0.5",
            "journalist ghostwroteFor politician 1 0.2",
            "mogul relatedByMarriageTo mogul 1 0.5",
            "mogul donatedTo party",
            "politician belongsToParty party",
            "politician mayorOf town 1 0.4",
            "politician pressSecretary journalist 1 0.5",
            "party stronghold town",
            "press manufacturedIn year",
        ),
        seed=132,
    )
    return as_linked_data(folder, schema, "http://press.example/id/", "http://press.example/p/")


def bloodbank(folder: Path) -> list[str]:
    rng = random.Random(133)
    folk, towns = people(110, rng), cities(10, rng)
    schema = Schema(
        {
            "donor": folk[:60],
            "donation": [f"unit {n}" for n in range(9001, 9071)],
            "clinic": [f"{town} clinic" for town in towns[:8]],
            "nurse": folk[60:80],
            "recipient": folk[80:110],
            "blood_group": ["A pos", "A neg", "B pos", "B neg", "0 pos", "0 neg", "AB pos"],
            "collected": [f"2023-1{m}-{d}" for m in (0, 1, 2) for d in (11, 14, 27)],
            "volume": ["250", "350", "450"],
            "fridge": [f"fridge {c}" for c in "ABCDEF"],
            "courier": ["RedLine", "MedDash", "Coldway"],
            "condition": ["anemia", "surgery", "burns", "leukemia"],
            "town": towns,
            "occupation": ["baker", "teacher", "pilot", "clerk"],
        },
        relations(
            "donation donor_id donor",
            "donation collected_at clinic",
            "donation coll_date collected",
            "donation volume_ml volume",
            "donation stored_in fridge",
            "donation transfused_to recipient 1 0.6",
            "donation screened_by nurse",
            "donation split_from donation 1 0.2",
            "donor blood_grp blood_group",
            "donor occupation occupation",
            "donor home_town town",
            "donor recruited_by donor 1 0.5",
            "donor donates_regularly_at clinic 1 0.7",
            "donor emergency_contact donor 1 0.5",
            "recipient treated_for condition",
            "recipient compatible_with blood_group 2",
            "recipient under_care_of nurse",
            "nurse employed_at clinic",
            "nurse shift_partner nurse 1 0.6",
            "nurse filled_in_for nurse 1 0.4",
            "clinic town_id town",
            "clinic head_nurse nurse",
            "clinic sends_surplus_to clinic 1 0.7",
            "fridge kept_at clinic",
            "fridge inspected_by nurse",
            "courier collects_from clinic 3",
        ),
        seed=133,
    )
    return as_tables(folder, schema)


ELEVENTH: dict[str, Callable[..., list[str]]] = {
    **{"theatre": theatre, "newspapers": newspapers, "bloodbank": bloodbank},
}
