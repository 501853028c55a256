"""Three more graphs as strangers bring them: a shop's CSV tables, buildings as N-Triples of
DBpedia's kind, gods and monsters as TSV with types."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people
from benchmarks.foreign_schemas import Schema, as_linked_data, as_tables, as_tsv, relations


def shop(folder: Path) -> list[str]:
    rng = random.Random(91)
    folk, towns = people(100, rng), cities(12, rng)
    schema = Schema(
        {
            "customer": folk[:60],
            "order": [f"order {n}" for n in range(20310, 20380)],
            "product": [
                f"{a} {b}"
                for a in ("Alpine", "Coast", "Prime", "Nova")
                for b in ("tent", "stove", "lamp", "mug", "pack")
            ],
            "supplier": ["Norgear", "Hald Textil", "Calder Outdoor", "Ostra Trading", "Tave Mill"],
            "sales_rep": folk[60:75],
            "store": [f"{town} store" for town in towns[:6]],
            "category": ["camping", "cooking", "lighting", "luggage"],
            "date": [f"2023-0{m}-1{m}" for m in range(1, 9)],
            "mode": ["standard post", "express", "pick-up"],
            "price": [f"{n}.50" for n in (9, 14, 25, 49, 120)],
            "qty": [str(n) for n in (4, 12, 60, 150)],
            "city": towns,
            "country": COUNTRIES,
            "tier": ["gold tier", "silver tier", "basic tier"],
            "currency": ["MRK", "TLR", "VOL"],
        },
        relations(
            "order customer_id customer",
            "order order_date date",
            "order ship_mode mode",
            "order contains_product product 2",
            "order handled_by_rep sales_rep",
            "order returned_to_store store 1 0.2",
            "customer loyalty_tier tier",
            "customer billing_city city",
            "customer signed_up_at store",
            "customer wishlist_item product 1 0.6",
            "customer referred_by customer 1 0.4",
            "product product_category category",
            "product unit_price price",
            "product qty_in_stock qty",
            "product preferred_supplier supplier",
            "product replaces_product product 1 0.3",
            "product often_bought_with product 1 0.7",
            "supplier country_of_origin country",
            "supplier invoices_in_currency currency",
            "supplier acct_mgr sales_rep",
            "sales_rep team_lead sales_rep 1 0.6",
            "sales_rep covers_city city 2",
            "store store_mgr sales_rep",
            "store delivers_same_day_to city 2",
        ),
        seed=91,
    )
    return as_tables(folder, schema)


def buildings(folder: Path) -> list[str]:
    rng = random.Random(92)
    folk, towns = people(50, rng), cities(14, rng)
    schema = Schema(
        {
            "Building": [f"{a} {b}" for a in towns[:12] for b in ("Tower", "Opera", "Exchange")],
            "Architect": folk[:18],
            "Person": folk[18:],
            "Firm": [
                f"{a} & {b}" for a, b in (("Holm", "Dahl"), ("Ekman", "Sons"), ("Iver", "Co"))
            ],
            "City": towns,
            "Style": ["Brutalism", "Art Deco", "Gothic Revival", "High-tech"],
            "Material": ["granite", "steel", "brick", "timber"],
            "Year": [str(y) for y in range(1890, 2010, 9)],
            "Award": ["Stone Medal", "Skyline Award", "Mason Prize"],
            "Movement": ["Orl School", "New Plainness", "Circle of Nine"],
            "Height": [str(n) for n in (42, 66, 88, 120, 230)],
        },
        relations(
            "Building architect Architect",
            "Building structuralEngineer Person",
            "Building mainContractor Firm",
            "Building architecturalStyle Style",
            "Building buildingMaterial Material",
            "Building completionYear Year",
            "Building locatedInCity City",
            "Building formerTenant Firm 1 0.4",
            "Building openedBy Person 1 0.6",
            "Building replacedBuilding Building 1 0.3",
            "Building modelledOn Building 1 0.3",
            "Building heightInMetres Height",
            "Building wonAward Award 1 0.4",
            "Architect trainedUnder Architect 1 0.7",
            "Architect associatedMovement Movement 1 0.7",
            "Architect practicedIn City",
            "Architect partnerInFirm Firm 1 0.6",
            "Architect rivalOf Architect 1 0.3",
            "Firm foundedBy Architect",
            "Firm chairman Person",
            "Firm regionalOffice City 2",
            "City mayor Person",
            "City tallestBuilding Building",
            "City sisterCity City 1 0.5",
            "Award presentedBy Firm",
            "Award firstRecipient Architect",
            "Movement leadingFigure Architect",
        ),
        untyped=("Year", "Height"),
        seed=92,
    )
    base = "http://build.example/"
    return as_linked_data(folder, schema, f"{base}resource/", f"{base}property/", f"{base}class/")


def myths(folder: Path) -> list[str]:
    rng = random.Random(93)
    heads = ("Ar", "Bel", "Cor", "Dru", "El", "Fen", "Gal", "Hy", "Is", "Kor", "Mor", "Nym")
    gods = [f"{head}{tail}" for head in heads for tail in ("anna", "ios", "una")]
    schema = Schema(
        {
            "god": gods,
            "hero": [f"{head}{tail}" for head in heads for tail in ("dred", "wen")],
            "monster": [f"the {a} of {b}" for a in ("Worm", "Hag") for b in cities(10, rng)],
            "weapon": [
                f"{a} {b}" for a in ("Star", "Bone", "Rain") for b in ("spear", "bow", "axe")
            ],
            "place": cities(14, rng),
            "temple": [f"temple {n}" for n in ("of Dawn", "of Tides", "of Ash", "of Reeds")],
            "domain": ["harvest", "the sea", "sleep", "thunder", "smiths"],
            "animal": ["raven", "hare", "bull", "salmon"],
            "festival": ["First Sheaf", "Night of Lamps", "Salt Days"],
        },
        relations(
            "god patron_of domain",
            "god child_of god 1 0.7",
            "god enemy_of god 1 0.5",
            "god worshipped_at temple",
            "god has_power_over domain 1 0.4",
            "god banished_to place 1 0.3",
            "god transformed_into animal 1 0.4",
            "hero descended_from god",
            "hero wields weapon 1 0.8",
            "hero slew monster 1 0.8",
            "hero raised_by hero 1 0.5",
            "hero swore_oath_to god 1 0.6",
            "hero in_love_with hero 1 0.4",
            "hero died_fighting monster 1 0.3",
            "hero birthplace place",
            "hero captive_of monster 1 0.2",
            "monster dwells_in place",
            "monster guards weapon 1 0.5",
            "monster sent_by god 1 0.7",
            "weapon forged_by god",
            "weapon stolen_from god 1 0.5",
            "temple stands_near place",
            "temple hosts_festival festival",
            "animal sacred_to god",
            "festival held_in_honor_of god",
        ),
        seed=93,
    )
    return as_tsv(folder, schema, typed=True)


SEVENTH: dict[str, Callable[..., list[str]]] = {
    **{"shop": shop, "buildings": buildings, "myths": myths},
}
