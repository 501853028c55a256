"""Graphs as strangers bring them, each for one first reading: nothing was tuned for their ids.

The first three: a hospital's CSV tables, software that depends on software (a Neo4j export), power
stations and rivers as N-Triples of DBpedia's kind.
"""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people
from benchmarks.foreign_schemas import (
    Schema,
    as_linked_data,
    as_neo4j,
    as_tables,
    relations,
)


def hospital(folder: Path) -> list[str]:
    rng = random.Random(31)
    folk, towns = people(120, rng), cities(10, rng)
    schema = Schema(
        {
            "patient": folk[:70],
            "doctor": [f"Dr. {name}" for name in folk[70:95]],
            "department": ["Cardiology", "Oncology", "Neurology", "Pediatrics", "Emergency"],
            "drug": [f"{a}{b}" for a in ("Car", "Lo", "Ze", "Vi") for b in ("dol", "pril", "xin")],
            "disease": ["asthma", "gout", "migraine", "anemia", "eczema", "angina", "measles"],
            "insurer": ["Medica", "HealthOne", "Sana", "Vitalis"],
            "maker": ["Norpharm", "Calder Labs", "Ostra Bio"],
            "ingredient": ["zinc", "codeine", "lactose", "caffeine", "menthol"],
            "city": towns,
            "building": ["North Wing", "South Wing", "Tower B"],
            "dob": [f"19{y}-0{1 + y % 9}-1{y % 10}" for y in range(40, 99)],
            "blood": ["A+", "A-", "B+", "0+", "0-", "AB+"],
            "allergen": ["penicillin", "peanuts", "latex", "pollen"],
            "school": [f"{town} Medical School" for town in towns[:5]],
        },
        relations(
            "patient attending_physician doctor",
            "patient dob dob",
            "patient blood_type blood",
            "patient primary_diagnosis disease",
            "patient home_city city",
            "patient insurance_provider insurer",
            "patient allergies allergen 2 0.6",
            "patient prescribed drug 2",
            "patient referred_by doctor 1 0.5",
            "doctor dept department",
            "doctor med_school school",
            "doctor reports_to doctor 1 0.7",
            "doctor on_call_at building 1 0.5",
            "department head_of_dept doctor",
            "department located_in building",
            "drug treats disease 2",
            "drug manufacturer maker",
            "drug active_ingredient ingredient 2",
            "drug contraindicated_with drug 1 0.7",
            "maker hq_city city",
        ),
        seed=31,
    )
    return as_tables(folder, schema)


def packages(folder: Path) -> list[str]:
    rng = random.Random(32)
    folk = people(60, rng)
    words = ("json", "http", "log", "cache", "yaml", "auth", "queue", "image")
    ends = ("kit", "lite", "-core", "ify", "-utils", "2")
    schema = Schema(
        {
            "Package": [word + end for word in words for end in ends],
            "Maintainer": folk,
            "Vulnerability": [f"CVE-2021-{n}" for n in range(1200, 1224)],
            "License": ["MIT", "Apache-2.0", "GPL-3.0", "BSD-3-Clause"],
            "Repository": [f"github/{word}{n}" for word in words for n in (1, 2)],
            "Organization": ["Openforge", "Hexworks", "Blue Lambda", "Nodeville"],
            "Language": ["Rust", "Go", "Python", "TypeScript"],
            "Release": [f"release {a}.{b}" for a in range(1, 5) for b in range(6)],
        },
        relations(
            "Package DEPENDS_ON Package 2",
            "Package DEV_DEPENDS_ON Package 1 0.5",
            "Package PEER_DEPENDENCY_OF Package 1 0.3",
            "Package LICENSED_UNDER License",
            "Package MAINTAINED_BY Maintainer 2",
            "Package SOURCE_REPO Repository",
            "Package IS_WRITTEN_IN Language",
            "Package SUPERSEDES Package 1 0.3",
            "Package FORKED_FROM Package 1 0.3",
            "Package LATEST_RELEASE Release",
            "Vulnerability AFFECTS Package 2",
            "Vulnerability FIXED_IN Release",
            "Vulnerability REPORTED_BY Maintainer",
            "Maintainer BELONGS_TO Organization",
            "Maintainer HAS_COMMIT_RIGHTS_TO Repository 2",
            "Maintainer SPONSORS Maintainer 1 0.4",
            "Repository OWNED_BY Organization",
            "Organization PREFERRED_LANGUAGE Language",
        ),
        seed=32,
    )
    return as_neo4j(folder, schema)


def power(folder: Path) -> list[str]:
    rng = random.Random(33)
    folk, towns = people(50, rng), cities(30, rng)
    rivers = ["Orl", "Senna", "Tave", "Morava", "Lisk", "Upper Drin", "Vesna", "Kamenka"]
    schema = Schema(
        {
            "PowerStation": [f"{town} Power Station" for town in towns[:22]],
            "Dam": [f"{town} Dam" for town in towns[10:26]],
            "River": rivers,
            "Lake": [f"Lake {name}" for name in ("Ister", "Belan", "Corvo", "Hald", "Mirow")],
            "Settlement": towns,
            "Country": COUNTRIES,
            "Company": ["Norvolt", "Hydra AG", "Tauland Energy", "Lumen Group", "Ostra Grid"],
            "Person": folk,
            "Fuel": ["coal", "natural gas", "hydroelectricity", "uranium", "biomass"],
        },
        relations(
            "PowerStation owner Company",
            "PowerStation operatingCompany Company 1 0.6",
            "PowerStation primaryFuelType Fuel",
            "PowerStation locatedInArea Settlement",
            "PowerStation nearestCity Settlement 1 0.5",
            "PowerStation coolingSource River 1 0.5",
            "Dam crosses River",
            "Dam builtBy Company",
            "Dam createsReservoir Lake 1 0.6",
            "Dam chiefEngineer Person",
            "River sourceCountry Country",
            "River riverMouth Lake",
            "River leftTributary River 1 0.7",
            "River flowsThrough Settlement 3",
            "Lake inflow River 1 0.8",
            "Lake islandOf Country 1 0.3",
            "Settlement isPartOf Country",
            "Settlement leaderName Person",
            "Settlement postalCodeArea Settlement 1 0.2",
            "Country capital Settlement",
            "Company parentCompany Company 1 0.6",
            "Company keyPerson Person 2",
            "Company foundationPlace Settlement",
            "Company regionServed Country 2",
            "Person residence Settlement",
            "Person knownFor Dam 1 0.5",
            "Person boardMemberOf Company 1 0.3",
        ),
        seed=33,
    )
    node, terms = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"
    return as_linked_data(folder, schema, node, terms, terms)


FIRST: dict[str, Callable[..., list[str]]] = {
    **{"hospital": hospital, "packages": packages, "power": power},
}
