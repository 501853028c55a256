"""Three more graphs as strangers bring them: space missions as N-Triples without types, orders of a
food delivery as a Neo4j export, a zoo's CSV tables with short forms and dates."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people
from benchmarks.foreign_schemas import Schema, as_linked_data, as_neo4j, as_tables, relations


def missions(folder: Path) -> list[str]:
    rng = random.Random(61)
    folk, towns = people(50, rng), cities(20, rng)
    bodies = ["Mars", "Venus", "Europa", "Titan", "Ceres", "Ganymede", "Pallas", "Io"]
    schema = Schema(
        {
            "mission": [
                f"{name} {n}" for name in ("Pathway", "Halo", "Vega") for n in range(1, 11)
            ],
            "rocket": [f"Lifter {n}" for n in range(1, 9)],
            "agency": ["Nordic Space Agency", "Taul Space Centre", "Orbital Works"],
            "pad": [f"Pad {letter}" for letter in "ABCDEF"],
            "spaceport": [f"{town} Spaceport" for town in towns[:4]],
            "body": bodies,
            "star": ["the Sun", "Alphard"],
            "instrument": ["spectrometer", "radar", "seismometer", "stereo camera", "magnetometer"],
            "astronaut": folk,
            "town": towns,
            "country": COUNTRIES,
            "launched": [f"{y}-0{m}-2{m}" for y in range(1988, 2020, 4) for m in (2, 5)],
            "crater": [f"{name} crater" for name in ("Orm", "Sable", "Kestrel", "Brenna")],
            "engine": ["RX-1", "RX-3", "Blue Torch"],
        },
        relations(
            "mission launchVehicle rocket",
            "mission launchSite pad",
            "mission launchDate launched",
            "mission operatedBy agency",
            "mission destination body",
            "mission crewMember astronaut 2 0.6",
            "mission missionCommander astronaut 1 0.6",
            "mission hasInstrument instrument 2",
            "mission landedIn crater 1 0.4",
            "mission previousMission mission 1 0.5",
            "mission rendezvousedWith mission 1 0.3",
            "rocket manufacturer agency",
            "rocket poweredBy engine 1 1",
            "rocket maidenFlightFrom pad",
            "pad partOfSpaceport spaceport",
            "spaceport nearTown town",
            "spaceport isRunBy agency",
            "body orbits star",
            "body discoverer astronaut",
            "crater locatedOnBody body",
            "agency headquarters town",
            "agency administrator astronaut",
            "agency cooperatesWith agency",
            "astronaut bornIn town",
            "astronaut nationality country",
            "astronaut walkedOn body 1 0.2",
            "astronaut backupOf astronaut 1 0.4",
            "town twinnedWith town 1 0.4",
        ),
        seed=61,
    )
    return as_linked_data(
        folder, schema, "http://space.example/resource/", "http://space.example/ontology#"
    )


def delivery(folder: Path) -> list[str]:
    rng = random.Random(62)
    folk, towns = people(110, rng), cities(6, rng)
    dishes = [f"{a} {b}" for a in ("spicy", "green", "baked") for b in ("ramen", "curry", "pizza")]
    schema = Schema(
        {
            "Customer": folk[:60],
            "Courier": folk[60:80],
            "Chef": folk[80:100],
            "Restaurant": [
                f"{a} {b}" for a in ("Blue", "Salt", "Elm") for b in ("Fork", "Pan", "Oven")
            ],
            "Order": [f"order {n}" for n in range(1001, 1070)],
            "Dish": dishes,
            "Ingredient": ["tofu", "basil", "peanuts", "shrimp", "cheddar", "lime"],
            "Cuisine": ["Thai", "Italian", "Ramen bar", "Tex-Mex"],
            "District": [f"{town} Quarter" for town in towns],
            "Coupon": ["SPRING10", "FREESHIP", "HALFOFF"],
            "Allergen": ["nuts", "gluten", "milk", "soy"],
            "PaymentMethod": ["credit card", "cash", "voucher"],
        },
        relations(
            "Customer PLACED Order 1 0.9",
            "Customer LIVES_IN District",
            "Customer RATED Restaurant 2 0.8",
            "Customer REFERRED Customer 1 0.4",
            "Customer ALLERGIC_TO Allergen 1 0.4",
            "Customer FAVORITE_DISH Dish 1 0.7",
            "Order CONTAINS Dish 2",
            "Order DELIVERED_BY Courier",
            "Order FULFILLED_BY Restaurant",
            "Order PAID_WITH PaymentMethod",
            "Order DISCOUNTED_BY Coupon 1 0.4",
            "Restaurant SERVES Dish 4",
            "Restaurant OFFERS_CUISINE Cuisine",
            "Restaurant HEAD_CHEF Chef",
            "Restaurant DELIVERS_TO District 2",
            "Restaurant SITUATED_IN District",
            "Dish MADE_WITH Ingredient 2",
            "Dish PAIRED_WITH Dish 1 0.5",
            "Ingredient MAY_CONTAIN_TRACES_OF Allergen 1 0.7",
            "Courier BASED_IN District",
            "Courier RIDES_FOR Restaurant 1 0.6",
            "Chef APPRENTICED_UNDER Chef 1 0.6",
            "Chef INVENTED Dish 1 0.5",
        ),
        seed=62,
    )
    return as_neo4j(folder, schema)


def zoo(folder: Path) -> list[str]:
    rng = random.Random(63)
    folk, towns = people(40, rng), cities(8, rng)
    names = ("Bruno", "Luna", "Kito", "Nala", "Otto", "Pip", "Suri", "Taro", "Zola", "Mbali")
    schema = Schema(
        {
            "animal": [f"{name} {suffix}" for name in names for suffix in ("I", "II", "III", "IV")],
            "species": ["red panda", "snow leopard", "lemur", "tapir", "okapi", "ibis", "meerkat"],
            "enclosure": [f"{side} house {n}" for side in ("north", "south") for n in range(1, 6)],
            "keeper": folk[:24],
            "vet": [f"Dr. {name}" for name in folk[24:32]],
            "born": [f"20{y}-0{1 + y % 9}-05" for y in range(10, 24)],
            "sex": ["male", "female"],
            "zoo": [f"{town} Zoo" for town in towns[:5]],
            "diet": ["bamboo", "fruit mix", "whole rabbits", "insects", "hay"],
            "continent": ["Asia", "Africa", "South America"],
            "status": ["endangered", "vulnerable", "least concern"],
            "sponsor": ["Norbank", "Almera", "Kesterfield School", "Rotary Varn"],
            "weight": [str(n) for n in (4, 11, 38, 55, 240)],
            "year": [str(y) for y in range(1955, 2015, 6)],
            "habitat": ["rainforest", "savanna", "mountain forest"],
        },
        relations(
            "animal species species",
            "animal sex sex",
            "animal dob born",
            "animal sire animal 1 0.5",
            "animal dam animal 1 0.5",
            "animal housed_in enclosure",
            "animal keeper_id keeper",
            "animal transferred_from zoo 1 0.5",
            "animal adopted_by sponsor 1 0.5",
            "animal last_checked_by vet",
            "animal shares_enclosure_with animal 1 0.4",
            "species avg_weight_kg weight",
            "species eats diet 2",
            "species cons_status status",
            "species native_continent continent 2",
            "species natural_habitat habitat",
            "enclosure built_in year",
            "enclosure sr_keeper keeper",
            "enclosure funded_by sponsor 1 0.6",
            "keeper deputy_for keeper 1 0.6",
            "keeper trained_by keeper 1 0.7",
            "keeper hire_year year",
            "vet specialises_in species",
            "vet on_duty_at zoo 1 0.5",
            "zoo partner_zoo zoo 1 0.7",
            "zoo founded year",
        ),
        seed=63,
    )
    return as_tables(folder, schema)


FOURTH: dict[str, Callable[..., list[str]]] = {
    **{"missions": missions, "delivery": delivery, "zoo": zoo},
}
