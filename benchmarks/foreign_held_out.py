"""More graphs as other people have them: a museum's tables, an airline's property graph, plants
as N-Triples, courts as TSV, a football league, a smart home,
ships, and shows that are streamed.

All names are made up. What each function writes is what `graphwalker graph build` is given.
"""

import csv
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.foreign_data import (
    COUNTRIES,
    Fact,
    as_file,
    as_json_lines,
    as_n_triples,
    cities,
    once,
    people,
    titles,
)


def museum(folder: Path, size: int = 90) -> list[str]:
    """Three CSV tables: works, artists, rooms."""
    rng = random.Random(21)
    artists, curators, towns = people(40, rng)[:30], people(8, rng), cities(12, rng)
    movements = ["Cubism", "Tachism", "Orphism", "Vorticism"]
    rooms = [f"Gallery {n}" for n in range(1, 13)]
    works = [
        {
            "artwork": title,
            "painted_by": rng.choice(artists),
            "made_in": rng.choice(towns),
            "medium": rng.choice(["oil on canvas", "tempera", "charcoal", "watercolour"]),
            "hangs_in": rng.choice(rooms),
            "depicts": ";".join(rng.sample(["harvest", "storm", "dancer", "bridge", "horses"], 2)),
            "donated_by": rng.choice(curators) if rng.random() < 0.4 else "",
        }
        for title in titles(size, rng)
    ]
    makers = [
        {
            "artist": artist,
            "born_in": rng.choice(towns),
            "belongsToMovement": rng.choice(movements),
            "studied_under": rng.choice(artists) if rng.random() < 0.6 else "",
            "nationality": rng.choice(COUNTRIES),
        }
        for artist in artists
    ]
    places = [
        {
            "room": room,
            "on_floor": f"floor {1 + k // 4}",
            "looked_after_by": rng.choice(curators),
            "named_after": rng.choice(artists),
        }
        for k, room in enumerate(rooms)
    ]
    inputs: list[str] = []
    for name, rows in (("works", works), ("artists", makers), ("rooms", places)):
        inputs += ["--triples", _table(folder / f"{name}.csv", rows)]
    return inputs


def airline(folder: Path) -> list[str]:
    """JSON lines as Neo4j exports them, with labels."""
    rng = random.Random(22)
    towns, pilots = cities(30, rng), people(60, rng)
    airlines = [
        f"{name} Air" for name in ("Polar", "Delta Sun", "Ostra", "Kestrel", "Vela", "Lyra")
    ]
    ports = [f"{town} Airport" for town in towns[:20]]
    planes = [f"{maker}-{n}" for maker in ("Corvo", "Aquila") for n in (100, 200, 300, 400)]
    facts: list[Fact] = [(p, "SERVES", p.removesuffix(" Airport")) for p in ports]
    for one in airlines:
        facts += [(one, "OPERATES", plane) for plane in rng.sample(planes, 3)]
        facts += [(one, "FLIES_TO", port) for port in rng.sample(ports, 6)]
        facts += [
            (one, "HAS_HUB", rng.choice(ports)),
            (one, "MEMBER_OF", rng.choice(("Sky", "Orb"))),
        ]
        facts += [(one, "CODESHARES_WITH", rng.choice(airlines))]
    for pilot in pilots:
        facts += [(pilot, "EMPLOYED_BY", rng.choice(airlines))]
        facts += [(pilot, "CERTIFIED_FOR", plane) for plane in rng.sample(planes, 2)]
        facts += [
            (pilot, "TRAINED_BY", rng.choice(pilots)),
            (pilot, "GREW_UP_IN", rng.choice(towns)),
        ]
    facts += [(plane, "BUILT_BY", f"{plane.partition('-')[0]} Works") for plane in planes]
    facts += [
        (f"{maker} Works", "HEADQUARTERED_IN", towns[k])
        for k, maker in enumerate(("Corvo", "Aquila"))
    ]
    facts += [(town, "TWINNED_WITH", rng.choice(towns)) for town in towns]
    labels = dict.fromkeys(towns, "City") | dict.fromkeys(pilots, "Pilot")
    labels |= dict.fromkeys(airlines, "Airline") | dict.fromkeys(ports, "Airport")
    labels |= dict.fromkeys(planes, "Aircraft") | dict.fromkeys(("Sky", "Orb"), "Alliance")
    labels |= dict.fromkeys(("Corvo Works", "Aquila Works"), "Manufacturer")
    return ["--property", as_json_lines(folder / "airline.jsonl", facts, labels, {})]


def plants(folder: Path) -> list[str]:
    """N-Triples with labels and without types."""
    rng = random.Random(23)
    kinds = [
        f"{a} {b}"
        for a in ("Silver", "Creeping", "Marsh", "Giant", "Dwarf", "Golden")
        for b in ("Sorrel", "Vetch", "Orchid", "Nettle", "Thyme", "Fern", "Clover")
    ]
    insects = ["hawk moth", "mason bee", "hoverfly", "bumblebee", "painted lady"]
    regions, finders = ["Alps", "Carpathians", "Pyrenees", "Balkans"], people(10, rng)
    facts: list[Fact] = []
    for kind in kinds:
        facts += [
            (kind, "nativeTo", rng.choice(regions)),
            (kind, "growsIn", rng.choice(("bog", "meadow", "scree", "woodland"))),
        ]
        facts += [(kind, "pollinatedBy", one) for one in rng.sample(insects, 2)]
        facts += [(kind, "belongsToFamily", rng.choice(("Fabaceae", "Lamiaceae", "Orchidaceae")))]
        facts += [
            (kind, "firstDescribedBy", rng.choice(finders)),
            (kind, "leafShape", rng.choice(("oval", "needle", "lobed"))),
        ]
        facts += [(kind, "closelyRelatedTo", rng.choice(kinds))] if rng.random() < 0.5 else []
        facts += (
            [(kind, "toxicTo", rng.choice(("cattle", "dogs", "sheep")))]
            if rng.random() < 0.4
            else []
        )
        facts += (
            [(kind, "usedInDish", rng.choice(("spring soup", "herb pie", "green salad")))]
            if rng.random() < 0.5
            else []
        )
        facts += [(rng.choice(insects), "laysEggsOn", kind)] if rng.random() < 0.5 else []
    facts += [(one, "collectedIn", rng.choice(regions)) for one in finders]
    facts += [
        (one, "taughtAt", rng.choice(("Varnholm University", "Lomport College"))) for one in finders
    ]
    lines = as_n_triples(
        facts,
        lambda n: "http://plants.example/id/" + n.replace(" ", "-"),
        "http://plants.example/terms#",
    )
    return ["--triples", as_file(folder / "plants.nt", lines)]


def courts(folder: Path) -> list[str]:
    """TSV without types."""
    rng = random.Random(24)
    persons = people(80, rng)
    judges, lawyers, parties = persons[:20], persons[20:45], persons[45:]
    seats = [f"{town} District Court" for town in cities(8, rng)] + ["Supreme Court of Mersia"]
    cases = [
        f"{rng.choice(parties).split()[-1]} v. {rng.choice(parties).split()[-1]} ({1950 + n})"
        for n in range(60)
    ]
    facts: list[Fact] = []
    for k, case in enumerate(cases):
        facts += [
            (case, "heard_in", rng.choice(seats)),
            (case, "presided_over_by", rng.choice(judges)),
        ]
        facts += [
            (case, "plaintiff", rng.choice(parties)),
            (case, "defendant", rng.choice(parties)),
        ]
        facts += [(case, "concerns", rng.choice(("land", "patents", "wages", "shipping", "libel")))]
        facts += [(case, "cites", one) for one in rng.sample(cases[:k], min(k, 2))]
        facts += [(case, "overturned", rng.choice(cases[:k]))] if k and rng.random() < 0.2 else []
    for judge in judges:
        facts += [
            (judge, "sits_on", rng.choice(seats)),
            (judge, "appointed_by", rng.choice(("President Holm", "President Ekman"))),
        ]
        facts += [
            (judge, "clerked_for", rng.choice(judges)),
            (judge, "studied_law_at", rng.choice(("Varn Law School", "Mire University"))),
        ]
    for party in parties:
        facts += [(party, "represented_by", rng.choice(lawyers))]
    for lawyer in lawyers:
        facts += [
            (lawyer, "partner_at", rng.choice(("Ivers & Moreau", "Gruber Law"))),
            (lawyer, "admitted_to_bar_in", rng.choice(COUNTRIES)),
        ]
    return ["--triples", as_file(folder / "courts.tsv", ("\t".join(fact) for fact in once(facts)))]


def league(folder: Path) -> list[str]:
    """TSV with a file of types: a football league's seasons."""
    rng = random.Random(25)
    towns = cities(10, rng)
    clubs, players, coaches = [f"{t} United" for t in towns], people(90, rng)[:80], people(12, rng)
    grounds, agents = [f"{t} Park" for t in towns], ["Goalline Agency", "Twelfth Man", "Pitchside"]
    facts: list[Fact] = []
    for k, club in enumerate(clubs):
        facts += [
            (club, "plays_home_games_at", grounds[k]),
            (club, "coached_by", rng.choice(coaches)),
        ]
        facts += [(club, "relegated_from", f"Division {rng.choice((1, 2))}")] if k % 3 == 0 else []
        facts += [(club, "sponsored_by_company", rng.choice(("Almera", "Boreal", "Corvia")))]
        facts += [(club, "rivals", rng.choice(clubs)), (club, "wonCup", f"Cup {2000 + k}")]
    for player in players:
        facts += [
            (player, "contracted_to", rng.choice(clubs)),
            (player, "wears_shirt_number", str(rng.randint(1, 30))),
        ]
        facts += [
            (player, "capped_by", rng.choice(COUNTRIES)),
            (player, "represented_by_agent", rng.choice(agents)),
        ]
        facts += [(player, "loaned_out_to", rng.choice(clubs))] if rng.random() < 0.3 else []
        facts += [(player, "scored_against", club) for club in rng.sample(clubs, 2)]
        facts += [(player, "started_career_at", rng.choice(clubs))]
    facts += [(coach, "formerly_played_for", rng.choice(clubs)) for coach in coaches]
    facts += [(ground, "situated_in_city", ground.removesuffix(" Park")) for ground in grounds]
    kinds = dict.fromkeys(clubs, "Club") | dict.fromkeys(players, "Player")
    kinds |= dict.fromkeys(coaches, "Coach") | dict.fromkeys(grounds, "Stadium")
    triples = as_file(folder / "league.tsv", ("\t".join(fact) for fact in once(facts)))
    typed = as_file(folder / "types.tsv", (f"{name}\t{kind}" for name, kind in kinds.items()))
    return ["--triples", triples, "--types", typed]


def home(folder: Path) -> list[str]:
    """TSV of a building's devices, without types and in camelCase."""
    rng = random.Random(26)
    rooms = [
        f"{a} {b}" for a in ("north", "south", "attic", "guest") for b in ("room", "bath", "hall")
    ]
    devices = [
        f"{kind} {n}"
        for kind in ("lamp", "sensor", "valve", "camera", "blind", "heater")
        for n in range(1, 9)
    ]
    hubs, people_in = ["hub A", "hub B", "hub C"], people(8, rng)
    facts: list[Fact] = []
    for device in devices:
        facts += [
            (device, "isInstalledIn", rng.choice(rooms)),
            (device, "pairedWith", rng.choice(hubs)),
        ]
        facts += [(device, "hasManufacturer", rng.choice(("Lumo", "Thermix", "Sentra")))]
        facts += [
            (device, "triggers", rng.choice(devices)),
            (device, "runsFirmware", f"v{rng.randint(1, 6)}.0"),
        ]
        facts += [(device, "drawsPowerFrom", rng.choice(("circuit 1", "circuit 2", "circuit 3")))]
        facts += [(device, "fallsBackTo", rng.choice(devices))] if rng.random() < 0.3 else []
        facts += [(device, "maintainedBy", rng.choice(people_in))] if rng.random() < 0.5 else []
    for room in rooms:
        facts += [(room, "opensOnto", rng.choice(rooms)), (room, "liesAbove", rng.choice(rooms))]
        facts += [
            (room, "isUsedBy", rng.choice(people_in)),
            (room, "heatedBy", rng.choice(devices)),
        ]
    for person in people_in:
        facts += [
            (person, "sleepsIn", rng.choice(rooms)),
            (person, "allergicTo", rng.choice(("dust", "pollen"))),
        ]
        facts += [(person, "hasAccessTo", rng.choice(hubs))]
    return ["--triples", as_file(folder / "home.tsv", ("\t".join(fact) for fact in once(facts)))]


def ships(folder: Path) -> list[str]:
    """TSV without types: ships, captains, ports."""
    rng = random.Random(27)
    vessels, captains = [f"MV {t}" for t in titles(50, rng)], people(40, rng)
    ports, firms = (
        [f"Port {t}" for t in cities(14, rng)],
        ["Norline", "Calder & Sons", "Blue Funnel"],
    )
    cargo = ["timber", "grain", "ore", "containers", "fruit"]
    facts: list[Fact] = []
    for k, ship in enumerate(vessels):
        facts += [
            (ship, "sails_under_flag", rng.choice(COUNTRIES)),
            (ship, "owned_by", rng.choice(firms)),
        ]
        facts += [(ship, "built_at_yard", rng.choice(("Ostra Yard", "Tallby Dock", "Vela Works")))]
        facts += [(ship, "carries_cargo", one) for one in rng.sample(cargo, 2)]
        facts += [
            (ship, "captained_by", rng.choice(captains)),
            (ship, "bound_for", rng.choice(ports)),
        ]
        facts += [
            (ship, "departs_from", rng.choice(ports)),
            (ship, "insured_through", rng.choice(firms)),
        ]
        facts += (
            [(ship, "collided_with", rng.choice(vessels[:k]))] if k and rng.random() < 0.3 else []
        )
        facts += (
            [(ship, "escorted_by", rng.choice(vessels[:k]))] if k and rng.random() < 0.3 else []
        )
    for captain in captains:
        facts += [
            (captain, "hails_from", rng.choice(COUNTRIES)),
            (captain, "served_aboard", rng.choice(vessels)),
        ]
        facts += [(captain, "holds_license_from", rng.choice(("Varn Academy", "Mire Institute")))]
    for port in ports:
        facts += [
            (port, "lies_on_river", rng.choice(("Orl", "Senna", "Tave"))),
            (port, "administered_by", rng.choice(firms)),
        ]
    return ["--triples", as_file(folder / "ships.tsv", ("\t".join(fact) for fact in once(facts)))]


def streaming(folder: Path) -> list[str]:
    """A property graph in JSON lines: shows, viewers, actors."""
    rng = random.Random(28)
    shows, folk = titles(45, rng), people(110, rng)
    viewers, actors, makers = folk[:50], folk[50:90], folk[90:]
    services, books = ["Streamly", "Kino+", "Tubeo"], [f"The {t} Papers" for t in cities(12, rng)]
    facts: list[Fact] = []
    for k, show in enumerate(shows):
        facts += [
            (show, "STREAMS_ON", rng.choice(services)),
            (show, "CREATED_BY", rng.choice(makers)),
        ]
        facts += [(show, "STARS", actor) for actor in rng.sample(actors, 3)]
        facts += [(show, "BASED_ON_BOOK", rng.choice(books))] if rng.random() < 0.5 else []
        facts += [(show, "SPIN_OFF_OF", rng.choice(shows[:k]))] if k and rng.random() < 0.3 else []
        facts += [(show, "FILMED_ON_LOCATION_IN", rng.choice(COUNTRIES))]
        facts += [(show, "SHARES_UNIVERSE_WITH", rng.choice(shows))] if rng.random() < 0.3 else []
    for viewer in viewers:
        facts += [(viewer, "WATCHED", show) for show in rng.sample(shows, 3)]
        facts += [
            (viewer, "SUBSCRIBES_TO", rng.choice(services)),
            (viewer, "RECOMMENDED_BY", rng.choice(viewers)),
        ]
    for actor in actors:
        facts += [
            (actor, "GUEST_STARRED_IN", rng.choice(shows)),
            (actor, "WON_AWARD_FOR", rng.choice(shows)),
        ]
        facts += [(actor, "UNDERSTUDIED", rng.choice(actors))] if rng.random() < 0.4 else []
        facts += [(actor, "SIGNED_WITH_AGENCY", rng.choice(("Limelight", "Callback")))]
    labels = (
        dict.fromkeys(shows, "Show")
        | dict.fromkeys(viewers, "Viewer")
        | dict.fromkeys(actors, "Actor")
    )
    labels |= (
        dict.fromkeys(makers, "Creator")
        | dict.fromkeys(services, "Service")
        | dict.fromkeys(books, "Book")
    )
    labels |= dict.fromkeys(COUNTRIES, "Country") | dict.fromkeys(
        ("Limelight", "Callback"), "Agency"
    )
    return ["--property", as_json_lines(folder / "streaming.jsonl", facts, labels, {})]


def _table(path: Path, rows: Sequence[dict[str, str]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


HELD_OUT: dict[str, Callable[..., list[str]]] = {
    **{"museum": museum, "airline": airline, "plants": plants, "courts": courts},
    **{"league": league, "home": home, "ships": ships, "streaming": streaming},
}
