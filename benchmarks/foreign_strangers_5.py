"""Three more graphs as strangers bring them: wines in a Wikibase of their own, attackers and their
software as a Neo4j export, noble houses as TSV without types in ids of several styles."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people, titles
from benchmarks.foreign_schemas import Schema, as_neo4j, as_tsv, as_wikibase, relations


def wines(folder: Path) -> list[str]:
    rng = random.Random(71)
    folk, towns = people(40, rng), cities(20, rng)
    schema = Schema(
        {
            "wine": [f"{name} {y}" for name in titles(12, rng) for y in (2012, 2015, 2018)],
            "winery": [f"Weingut {name.split()[-1]}" for name in folk[:12]],
            "grape_variety": ["Albana", "Corvo", "Lerna", "Tamaro", "Viorel", "Zinta", "Ostra"],
            "wine_region": ["Upper Orl", "Lira Hills", "Senna Coast", "Tave Valley"],
            "human": folk,
            "town": towns,
            "country": COUNTRIES[:4],
            "medal": ["gold medal", "silver medal", "bronze medal"],
            "competition": ["Varn Wine Cup", "Lakes Challenge", "Autumn Trophy"],
            "soil": ["limestone", "slate", "volcanic ash", "clay"],
            "vessel": ["oak barrel", "steel tank", "amphora"],
            "dish": ["roast lamb", "goat cheese", "mushroom pie", "grilled trout"],
            "importer": ["Norcellar", "Blue Grape Trading", "Calder Imports"],
            "inception": [str(y) for y in range(1820, 1990, 13)],
        },
        relations(
            "wine P3_produced_by winery",
            "wine P4_made_from_grape_variety grape_variety 2",
            "wine P5_aged_in vessel",
            "wine P6_won_medal_at competition 1 0.5",
            "wine P7_recommended_food_pairing dish 2",
            "wine P8_imported_by importer 1 0.7",
            "winery P10_located_in_wine_region wine_region",
            "winery P11_cellar_master human",
            "winery P12_inception inception",
            "winery P13_owned_by human 1 0.8",
            "winery P14_nearest_town town",
            "winery P15_predominant_soil_type soil",
            "winery P16_formerly_part_of winery 1 0.3",
            "grape_variety P17_parent_variety grape_variety 1 0.6",
            "grape_variety P18_indigenous_to wine_region",
            "wine_region P20_country country",
            "importer P22_headquarters_location town",
            "importer P23_managing_director human",
            "human P24_apprentice_of human 1 0.5",
            "human P25_place_of_birth town",
            "human P26_judge_at competition 1 0.3",
            "competition P27_held_annually_in town",
        ),
        untyped=("medal", "soil", "vessel", "dish", "inception"),
        seed=71,
    )
    return as_wikibase(folder, schema, "https://wine.wikibase.example/")


def attackers(folder: Path) -> list[str]:
    rng = random.Random(72)
    animals = ("Badger", "Heron", "Viper", "Moth", "Lynx", "Crane", "Jackal", "Newt")
    schema = Schema(
        {
            "ThreatGroup": [f"{a} {b}" for a in ("Silent", "Iron") for b in animals],
            "Malware": [
                f"{a}{b}" for a in ("Dark", "Quick", "Rust") for b in ("Drop", "Lock", "Eye")
            ]
            + [f"Grim{b}" for b in ("Seed", "Root", "Wire")],
            "Tool": ["netprobe", "credgrab", "tunnelkit", "portsweep", "keytap"],
            "Technique": [
                *("phishing", "credential dumping", "lateral movement", "keylogging"),
                *("process injection", "DNS tunneling", "password spraying", "data staging"),
            ],
            "Tactic": ["initial access", "persistence", "exfiltration", "discovery"],
            "Mitigation": ["network segmentation", "two-factor login", "code signing", "backups"],
            "Sector": ["energy", "banking", "telecoms", "aviation", "health care"],
            "Country": COUNTRIES,
            "Campaign": [f"Operation {t}" for t in titles(20, rng)],
            "Vulnerability": [f"CVE-2019-{n}" for n in range(700, 718)],
            "Product": ["MailRouter", "DeskServer", "CloudVault", "WebForge", "PrintHub"],
            "Vendor": ["Norsoft", "Calder Systems", "Tave Networks"],
            "Report": [f"Report {y}-{n}" for y in (2020, 2021) for n in range(1, 9)],
            "Analyst": people(16, rng),
            "Domain": [f"{w}-update.example" for w in ("mail", "cdn", "login", "sync", "news")],
        },
        relations(
            "ThreatGroup USES_MALWARE Malware 2",
            "ThreatGroup USES Tool 1 0.7",
            "ThreatGroup TARGETS Sector 2",
            "ThreatGroup SUSPECTED_ORIGIN Country",
            "ThreatGroup SHARES_INFRASTRUCTURE_WITH ThreatGroup 1 0.4",
            "Campaign ATTRIBUTED_TO ThreatGroup",
            "Campaign EXPLOITED Vulnerability 1 0.8",
            "Campaign AIMED_AT Country 2",
            "Malware IMPLEMENTS Technique 2",
            "Malware VARIANT_OF Malware 1 0.4",
            "Malware BEACONS_TO Domain",
            "Malware DROPPED_BY Malware 1 0.4",
            "Tool CAN_PERFORM Technique 2",
            "Technique PART_OF_TACTIC Tactic",
            "Technique MITIGATED_BY Mitigation 1",
            "Vulnerability FOUND_IN Product",
            "Vulnerability DISCLOSED_BY Analyst",
            "Product VENDOR Vendor",
            "Product INTEGRATES_WITH Product 1 0.6",
            "Report DESCRIBES Campaign 2",
            "Report LEAD_AUTHOR Analyst",
            "Report CITES Report 1 0.6",
            "Analyst EMPLOYED_AT Vendor",
            "Analyst TRACKS ThreatGroup 1 0.7",
            "Domain REGISTERED_IN Country",
        ),
        seed=72,
    )
    return as_neo4j(folder, schema)


def houses(folder: Path) -> list[str]:
    rng = random.Random(73)
    folk, towns = people(100, rng), cities(24, rng)
    schema = Schema(
        {
            "noble": folk,
            "house": [f"House {n}" for n in ("Albers", "Brandt", "Dahl", "Ekman", "Holm", "Novak")],
            "castle": [f"{town} Castle" for town in towns[:14]],
            "battle": [f"Battle of {town}" for town in towns[10:20]],
            "abbey": [f"{town} Abbey" for town in towns[14:22]],
            "duchy": [f"Duchy of {name}" for name in ("Orl", "Senna", "Tave", "Mirow")],
            "title": ["duke", "count", "bishop", "regent"],
            "color": ["red", "black", "white and gold", "green"],
            "beast": ["griffin", "boar", "stag", "eel"],
            "year": [str(y) for y in range(1201, 1390, 11)],
            "relic": ["Iron Ring", "Blue Psalter", "Saint Orla's Comb"],
        },
        relations(
            "noble father noble 1 0.6",
            "noble mother noble 1 0.6",
            "noble marriedTo noble 1 0.5",
            "noble bornAt castle 1 0.8",
            "noble diedIn year 1 0.7",
            "noble heldTitle title",
            "noble member-of-house house",
            "noble swore-fealty-to noble 1 0.5",
            "noble foughtAt battle 1 0.6",
            "noble killedAt battle 1 0.2",
            "noble buriedAt abbey 1 0.5",
            "noble wasFosteredBy noble 1 0.3",
            "noble succeeded noble 1 0.4",
            "noble godparentOf noble 1 0.3",
            "house seat castle",
            "house bannerColor color",
            "house heraldicBeast beast",
            "house rivalHouse house",
            "house bannermanOf house 1 0.5",
            "castle builtBy noble",
            "castle stands-in duchy",
            "castle besiegedDuring battle 1 0.5",
            "abbey founded_by noble",
            "abbey houses_relic relic 1 0.6",
            "battle victor noble",
            "battle foughtIn year",
            "duchy ruledBy noble",
            "duchy borders-on duchy 2",
        ),
        seed=73,
    )
    return as_tsv(folder, schema)


FIFTH: dict[str, Callable[..., list[str]]] = {
    **{"wines": wines, "attackers": attackers, "houses": houses},
}
