"""Three more graphs as strangers bring them: railways in a Wikibase of their own, a maker's parts
and suppliers as TSV without types, crimes and who was there as Neo4j's POLE example has them."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people
from benchmarks.foreign_schemas import Schema, as_neo4j, as_tsv, as_wikibase, relations


def railways(folder: Path) -> list[str]:
    rng = random.Random(41)
    towns, folk = cities(40, rng), people(40, rng)
    schema = Schema(
        {
            "railway_station": [f"{town} station" for town in towns[:32]],
            "railway_line": [
                f"{a}–{b} line" for a, b in zip(towns[::3], towns[1::3], strict=False)
            ],
            "municipality": towns,
            "country": COUNTRIES[:4],
            "company": ["Nordbahn", "Taul Rail", "Coast Express", "Metro Varn"],
            "locomotive_class": [f"Class {n}" for n in (12, 27, 44, 51, 63)],
            "architect": folk[:12],
            "human": folk[12:],
            "gauge": ["standard gauge", "narrow gauge", "broad gauge"],
            "heritage": ["listed building", "national monument"],
            "opening": [f"{y}-05-01" for y in range(1850, 1900, 3)],
            "style": ["Art Nouveau", "Brutalism", "Neo-Gothic"],
        },
        relations(
            "railway_station P2_located_in_the_administrative_territorial_entity municipality",
            "railway_station P3_connecting_line railway_line 2",
            "railway_station P4_adjacent_station railway_station 2 0.8",
            "railway_station P5_architect architect 1 0.6",
            "railway_station P6_date_of_official_opening opening",
            "railway_station P7_heritage_designation heritage 1 0.4",
            "railway_station P8_named_after human 1 0.3",
            "railway_station P9_architectural_style style 1 0.6",
            "railway_line P10_operator company",
            "railway_line P11_track_gauge gauge",
            "railway_line P12_terminus railway_station 2",
            "railway_line P13_rolling_stock_class locomotive_class 2",
            "railway_line P14_replaced_by railway_line 1 0.2",
            "locomotive_class P15_manufacturer company",
            "locomotive_class P16_designed_by human",
            "locomotive_class P17_has_successor locomotive_class 1 0.6",
            "municipality P18_twinned_administrative_body municipality 1 0.5",
            "municipality P19_head_of_government human",
            "municipality P20_country country",
            "architect P21_student_of architect 1 0.6",
            "architect P22_country_of_citizenship country",
            "human P23_place_of_burial municipality 1 0.5",
            "company P24_chief_executive_officer human",
            "company P25_headquarters_location municipality",
        ),
        untyped=("gauge", "heritage", "opening", "style"),
        seed=41,
    )
    return as_wikibase(folder, schema, "https://rail.wikibase.example/")


def parts(folder: Path) -> list[str]:
    rng = random.Random(42)
    towns, folk = cities(12, rng), people(40, rng)
    nouns = ("bracket", "valve", "gear", "bolt", "housing", "rotor", "seal", "spring")
    schema = Schema(
        {
            "part": [
                f"{noun} {k}{c}" for noun in nouns for k, c in ((10, "A"), (20, "B"), (30, "C"))
            ],
            "product": [f"Pump {m}" for m in ("Orca", "Lynx", "Heron", "Tern", "Ibex", "Puma")],
            "supplier": ["Hald GmbH", "Norcast", "Mirow Steel", "Tave Plastics", "Ostra Bearings"],
            "site": [f"plant {town}" for town in towns[:5]],
            "store": [f"warehouse {n}" for n in range(1, 7)],
            "person": folk,
            "line": [f"line {n}" for n in range(1, 9)],
            "material": ["brass", "nylon", "steel 304", "rubber", "aluminium"],
            "uom": ["piece", "box of 50", "metre"],
            "days": [str(n) for n in (3, 5, 7, 14, 21, 30)],
            "town": towns,
            "norm": ["ISO 4014", "DIN 931", "ISO 9001", "EN 10204"],
        },
        relations(
            "part suppliedBy supplier 2",
            "part madeOf material",
            "part stockedAt store",
            "part unit_of_measure uom",
            "part lead_time_days days",
            "part canBeReplacedWith part 1 0.5",
            "part inspected_by person",
            "part mustComplyWith norm 1 0.6",
            "part fitsInto product 2",
            "product assembledOn line",
            "product chiefDesigner person",
            "product shipsTo town 2",
            "product successorOf product 1 0.6",
            "supplier basedIn town",
            "supplier accountManager person",
            "supplier isCertifiedFor norm 2",
            "supplier deliversTo store 2",
            "store onSiteOf site",
            "store keyHolder person",
            "line runsAt site",
            "line shiftLead person",
            "line lastServicedBy person",
            "site plantManager person",
            "site townOrCity town",
            "person reportsTo person 1 0.7",
            "person trainedOn line 1 0.6",
        ),
        seed=42,
    )
    return as_tsv(folder, schema)


def crimes(folder: Path) -> list[str]:
    rng = random.Random(43)
    folk, towns = people(110, rng), cities(8, rng)
    streets = ("Mill Lane", "High Street", "Dock Road", "Elm Grove", "Station Road", "Quay Street")
    schema = Schema(
        {
            "Person": folk[:80],
            "Officer": [f"Sgt. {name}" for name in folk[80:100]],
            "Crime": [
                f"{kind} no. {n}" for kind in ("burglary", "theft", "arson") for n in range(1, 16)
            ],
            "Location": [f"{n} {street}" for street in streets for n in (3, 11, 27, 48)],
            "Vehicle": [
                f"{make} {n}" for make in ("Lada", "Volvo", "Fiat") for n in range(101, 109)
            ],
            "Phone": [f"0161 {n}" for n in range(5550, 5610)],
            "PhoneCall": [f"call {n}" for n in range(1, 40)],
            "PostCode": [f"M{n} 4XY" for n in range(1, 9)],
            "Area": towns,
            "Object": ["crowbar", "laptop", "gold watch", "blue rucksack", "handbag", "camera"],
        },
        relations(
            "Person CURRENT_ADDRESS Location",
            "Person HAS_PHONE Phone",
            "Person KNOWS Person 2",
            "Person KNOWS_THROUGH_WORK Person 1 0.4",
            "Person FAMILY_REL Person 1 0.4",
            "Person PARTY_TO Crime 1 0.5",
            "Crime OCCURRED_AT Location",
            "Crime INVESTIGATED_BY Officer",
            "Crime WITNESSED_BY Person 1 0.5",
            "Vehicle INVOLVED_IN Crime 1 0.8",
            "Object INVOLVED_IN Crime 2",
            "Vehicle REGISTERED_TO Person",
            "PhoneCall CALLER Phone",
            "PhoneCall CALLED Phone",
            "Location HAS_POSTCODE PostCode",
            "Location LOCATION_IN_AREA Area",
            "PostCode POSTCODE_IN_AREA Area",
            "Officer PATROLS Area",
            "Officer PARTNERED_WITH Officer 1 0.6",
            "Officer SUPERVISES Officer 1 0.4",
        ),
        seed=43,
    )
    return as_neo4j(folder, schema)


SECOND: dict[str, Callable[..., list[str]]] = {
    **{"railways": railways, "parts": parts, "crimes": crimes},
}
