"""Three more graphs as strangers bring them: board games in a Wikibase of their own, research
grants as a Neo4j export, a hotel group's CSV tables."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people, titles
from benchmarks.foreign_schemas import Schema, as_neo4j, as_tables, as_wikibase, relations


def games(folder: Path) -> list[str]:
    rng = random.Random(101)
    folk, towns = people(50, rng), cities(14, rng)
    schema = Schema(
        {
            "board_game": titles(36, rng),
            "game_designer": folk[:14],
            "illustrator": folk[14:24],
            "human": folk[24:],
            "publisher": ["Pegwerk", "Die & Co", "Meeple House", "Tableland"],
            "game_mechanic": ["worker placement", "drafting", "bluffing", "tile laying", "auction"],
            "award": ["Game of the Year", "Golden Pawn", "Critics Choice"],
            "city": towns,
            "country": COUNTRIES[:4],
            "theme": ["trains", "farming", "pirates", "ancient Orl", "trade"],
            "players": [str(n) for n in (2, 4, 5, 6)],
            "year": [str(y) for y in range(1985, 2024, 4)],
            "fair": ["Varn Game Fair", "Lom Play Days"],
        },
        relations(
            "board_game P2_designed_by game_designer",
            "board_game P3_illustrator illustrator",
            "board_game P4_published_by publisher",
            "board_game P5_publication_year year",
            "board_game P6_uses_mechanic game_mechanic 2",
            "board_game P7_maximum_number_of_players players",
            "board_game P8_expansion_of board_game 1 0.3",
            "board_game P9_award_received award 1 0.4",
            "board_game P10_set_in_period theme",
            "board_game P11_first_shown_at fair 1 0.6",
            "board_game P12_inspired_by board_game 1 0.3",
            "game_designer P13_frequent_collaborator game_designer 1 0.6",
            "game_designer P14_lives_in city",
            "game_designer P15_former_employee_of publisher 1 0.6",
            "game_designer P16_mentor game_designer 1 0.4",
            "illustrator P17_citizen_of country",
            "illustrator P18_works_exclusively_for publisher 1 0.7",
            "publisher P19_head_office_in city",
            "publisher P20_founded_by human",
            "publisher P21_parent_company publisher 1 0.5",
            "publisher P22_licenses_games_from publisher 1 0.7",
            "award P23_conferred_by publisher",
            "award P24_jury_chair human",
            "city P25_located_in_country country",
            "fair P26_takes_place_in city",
        ),
        untyped=("theme", "players", "year"),
        seed=101,
    )
    return as_wikibase(folder, schema, "http://games.wikibase.example/")


def grants(folder: Path) -> list[str]:
    rng = random.Random(102)
    folk, towns = people(80, rng), cities(10, rng)
    topics = ("Soil", "Sleep", "Graphene", "Glaciers", "Speech", "Vaccines", "Bees", "Voting")
    schema = Schema(
        {
            "Researcher": folk,
            "Grant": [f"{t} {k}" for t in topics for k in ("Starter Grant", "Consortium Grant")],
            "Agency": ["Science Fund Varn", "Tauland Council", "Green Trust", "Health Board"],
            "University": [f"University of {town}" for town in towns],
            "Publication": [f"On {t} {n}" for t in topics for n in ("I", "II", "III", "IV")],
            "Journal": ["Annals of Orl", "Lake Letters", "Open Methods"],
            "Keyword": ["field study", "survey", "simulation", "imaging", "clinical trial"],
            "Patent": [f"patent {n}" for n in range(880, 900)],
            "SpinOff": ["Beeline", "Carbo Tech", "Voxa", "Hypnia"],
            "Dataset": [f"{t} data" for t in topics],
            "City": towns,
        },
        relations(
            "Agency FUNDS Grant 5",
            "Grant AWARDED_TO University",
            "Grant PRINCIPAL_INVESTIGATOR Researcher",
            "Grant RENEWAL_OF Grant 1 0.3",
            "Researcher CO_INVESTIGATOR_ON Grant 1 0.4",
            "Researcher HOLDS_CHAIR_AT University 1 0.5",
            "Researcher OBTAINED_PHD_FROM University",
            "Researcher SUPERVISED_BY Researcher 1 0.6",
            "Researcher PEER_REVIEWED Publication 1 0.5",
            "Researcher SITS_ON_BOARD_OF SpinOff 1 0.2",
            "Publication FIRST_AUTHOR Researcher",
            "Publication CORRESPONDING_AUTHOR Researcher",
            "Publication APPEARED_IN Journal",
            "Publication ACKNOWLEDGES Grant",
            "Publication BUILDS_ON Publication 1 0.6",
            "Publication HAS_KEYWORD Keyword 2",
            "Publication RETRACTED_AT_REQUEST_OF Researcher 1 0.1",
            "Patent INVENTED_BY Researcher 2",
            "Patent ASSIGNED_TO University",
            "Patent CITES_PRIOR_ART Patent 1 0.5",
            "SpinOff COMMERCIALIZES Patent 2",
            "SpinOff SPUN_OUT_OF University",
            "Dataset COLLECTED_BY Researcher",
            "Dataset UNDERLIES Publication 2",
            "University LOCATED_IN City",
            "University PARTNER_OF University 1 0.6",
            "Journal EDITOR_IN_CHIEF Researcher",
        ),
        seed=102,
    )
    return as_neo4j(folder, schema)


def hotels(folder: Path) -> list[str]:
    rng = random.Random(103)
    folk, towns = people(110, rng), cities(12, rng)
    schema = Schema(
        {
            "hotel": [f"{a} {b}" for a in ("Grand", "Lake", "Park", "Old") for b in towns[:5]],
            "guest": folk[:60],
            "staff": folk[60:90],
            "booking": [f"booking {n}" for n in range(4001, 4061)],
            "city": towns,
            "region": ["North Coast", "Lake District", "Uplands"],
            "room_category": ["single", "double", "suite", "family room"],
            "checkin": [f"2024-0{m}-0{m}" for m in range(1, 10)],
            "nights": ["2", "3", "7", "14"],
            "agency": ["Sunways", "Calder Travel", "GoNorth"],
            "stars": ["3", "4", "5"],
            "chain": ["Blue Key Hotels", "Norstay", "Inns of Orl"],
            "spa": ["sauna", "salt bath", "pool"],
            "country": COUNTRIES,
            "built": [str(y) for y in range(1890, 2015, 12)],
        },
        relations(
            "hotel part_of_chain chain",
            "hotel city_id city",
            "hotel star_rating stars",
            "hotel gen_mgr staff",
            "hotel year_opened built",
            "hotel offers_facility spa 2",
            "hotel renovated_in built 1 0.5",
            "hotel nearby_hotel hotel 1 0.5",
            "booking guest_name guest",
            "booking hotel_name hotel",
            "booking room_cat room_category",
            "booking check_in_date checkin",
            "booking num_nights nights",
            "booking booked_through agency 1 0.6",
            "booking processed_by staff",
            "guest home_country country",
            "guest travels_with guest 1 0.5",
            "guest stayed_at hotel 2",
            "guest left_review_for hotel 1 0.5",
            "guest vip_contact staff 1 0.3",
            "staff works_in hotel",
            "staff line_manager staff 1 0.6",
            "staff covers_shifts_for staff 1 0.4",
            "city in_region region",
            "city twinned_with city 1 0.4",
            "chain headquartered_in city",
            "chain ceo staff",
            "agency contracted_with chain 2",
        ),
        seed=103,
    )
    return as_tables(folder, schema)


EIGHTH: dict[str, Callable[..., list[str]]] = {
    **{"games": games, "grants": grants, "hotels": hotels},
}
