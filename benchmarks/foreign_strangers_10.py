"""Three more graphs as strangers bring them: an IT support's CSV tables, mountains and those who
climbed them in a Wikibase of their own, fashion houses as TSV with types."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people
from benchmarks.foreign_schemas import Schema, as_tables, as_tsv, as_wikibase, relations


def helpdesk(folder: Path) -> list[str]:
    rng = random.Random(121)
    folk = people(110, rng)
    schema = Schema(
        {
            "ticket": [f"TCK-{n}" for n in range(3100, 3170)],
            "employee": folk[:70],
            "technician": folk[70:85],
            "device": [
                f"{kind} {n}" for kind in ("laptop", "printer", "phone") for n in range(1, 17)
            ],
            "vendor": ["Norcomp", "Calder IT", "Tave Devices", "Ostra Soft"],
            "software": ["MailHub", "DrawPro", "LedgerX", "PlanIt", "SafeKey", "Scanner+"],
            "office": [f"{side} office" for side in ("north", "harbor", "city", "airport")],
            "priority": ["low", "medium", "urgent"],
            "opened": [f"2024-0{m}-0{d}" for m in (1, 2, 3) for d in (3, 5, 9)],
            "os": ["Windows 11", "Ubuntu", "macOS"],
            "cause": ["expired password", "broken cable", "full disk", "paper jam"],
            "team": ["sales", "payroll", "design", "logistics"],
            "year": ["2019", "2020", "2021", "2022"],
        },
        relations(
            "ticket raised_by_emp employee",
            "ticket assigned_tech technician",
            "ticket affected_device device",
            "ticket priority priority",
            "ticket opened_on opened",
            "ticket root_cause cause 1 0.8",
            "ticket duplicate_of ticket 1 0.3",
            "ticket escalated_to technician 1 0.4",
            "ticket blocked_by ticket 1 0.2",
            "employee team_name team",
            "employee works_out_of office",
            "employee backup_person employee 1 0.4",
            "employee line_mgr employee 1 0.7",
            "employee approves_purchases_for team 1 0.2",
            "device issued_to employee",
            "device purchased_from vendor",
            "device runs_os os",
            "device has_installed software 2",
            "device warranty_until year",
            "device paired_with device 1 0.3",
            "technician specialises_in software",
            "technician covers_for technician 1 0.6",
            "technician based_at office",
            "software made_by vendor",
            "software requires_software software 1 0.5",
            "software superseded_by software 1 0.3",
            "vendor acct_rep technician",
        ),
        seed=121,
    )
    return as_tables(folder, schema)


def mountains(folder: Path) -> list[str]:
    rng = random.Random(122)
    folk, towns = people(60, rng), cities(16, rng)
    schema = Schema(
        {
            "mountain": [f"{a} {b}" for a in ("Mount", "Piz") for b in towns]
            + ["Grey Needle", "The Anvil", "Crow Spire", "White Tooth"],
            "mountain_range": ["Orl Alps", "Senna Range", "Tave Mountains", "Lisk Hills"],
            "mountaineer": folk[:36],
            "cartographer": folk[36:44],
            "expedition": [
                f"{y} {r} Expedition" for y in (1901, 1924, 1938, 1953) for r in towns[:4]
            ],
            "glacier": [f"{t} Glacier" for t in towns[4:12]],
            "hut": [f"{t} Hut" for t in towns[6:16]],
            "alpine_club": ["Varn Alpine Club", "Rope Society", "Mersian Mountaineers"],
            "country": COUNTRIES,
            "town": towns,
            "rock": ["granite", "gneiss", "limestone", "basalt"],
            "grade": ["easy", "difficult", "extreme"],
            "year": [str(y) for y in range(1780, 1960, 12)],
        },
        relations(
            "mountain P2_mountain_range mountain_range",
            "mountain P3_first_ascent_by mountaineer",
            "mountain P4_year_of_first_ascent year",
            "mountain P5_rock_type rock",
            "mountain P6_difficulty_of_normal_route grade",
            "mountain P7_parent_peak mountain 1 0.5",
            "mountain P8_overlooks town 1 0.7",
            "mountain P9_named_in_honour_of mountaineer 1 0.2",
            "mountain P10_mapped_by cartographer 1 0.6",
            "mountain_range P11_extends_into country 2",
            "mountaineer P12_member_of alpine_club",
            "mountaineer P13_climbing_partner mountaineer 1 0.6",
            "mountaineer P14_born_in town",
            "mountaineer P15_perished_on mountain 1 0.2",
            "mountaineer P16_took_part_in expedition 1 0.7",
            "mountaineer P17_guided_by mountaineer 1 0.3",
            "expedition P18_leader mountaineer",
            "expedition P19_aimed_to_climb mountain",
            "expedition P20_financed_by alpine_club",
            "expedition P21_set_off_from town",
            "glacier P22_flows_down_from mountain",
            "glacier P23_feeds_river_in country",
            "hut P24_access_point_for mountain 2",
            "hut P25_maintained_by alpine_club",
            "hut P26_can_be_reached_from town",
            "alpine_club P27_president mountaineer",
            "alpine_club P28_seat town",
        ),
        untyped=("rock", "grade", "year"),
        seed=122,
    )
    return as_wikibase(folder, schema, "https://peaks.wikibase.example/")


def fashion(folder: Path) -> list[str]:
    rng = random.Random(123)
    folk, towns = people(70, rng), cities(10, rng)
    schema = Schema(
        {
            "FashionHouse": [f"Maison {name.split()[-1]}" for name in folk[:12]],
            "Designer": folk[12:36],
            "Model": folk[36:56],
            "Photographer": folk[56:64],
            "Collection": [
                f"{s} {y}" for s in ("Spring", "Autumn", "Resort") for y in range(2010, 2022)
            ],
            "Garment": [
                f"{a} {b}" for a in ("pleated", "cropped", "quilted") for b in ("coat", "gown")
            ]
            + [f"{a} {b}" for a in ("wool", "linen") for b in ("suit", "cape", "skirt")],
            "Fabric": ["tweed", "silk", "denim", "velvet", "organza"],
            "Mill": ["Tave Weavers", "Hald Textil", "Orl Silk Works"],
            "Magazine": ["Seam", "Drape", "Cut & Line"],
            "City": towns,
            "School": [f"{town} School of Design" for town in towns[:5]],
            "Conglomerate": ["Lux Group", "Belmont Holding"],
        },
        relations(
            "FashionHouse creative-director Designer",
            "FashionHouse founder Designer",
            "FashionHouse ownedBy Conglomerate 1 0.7",
            "FashionHouse atelier-in City",
            "FashionHouse sourcesFabricFrom Mill 1 0.8",
            "FashionHouse brandAmbassador Model 1 0.6",
            "Collection by-house FashionHouse",
            "Collection shown-in City",
            "Collection openedBy Model",
            "Collection features Garment 2",
            "Collection reviewedIn Magazine 1 0.7",
            "Garment cut-from Fabric",
            "Garment oftenWornWith Garment 1 0.5",
            "Garment inspired-by Garment 1 0.3",
            "Fabric woven-at Mill",
            "Designer studied-at School",
            "Designer apprenticedWith Designer 1 0.6",
            "Designer left Conglomerate 1 0.2",
            "Designer muse Model 1 0.4",
            "Model walkedFor FashionHouse 2",
            "Model discoveredBy Photographer",
            "Model signedWith Agency",
            "Photographer shootsFor Magazine",
            "Magazine editor-in-chief Designer",
            "Magazine competesWith Magazine",
            "Mill suppliesExclusivelyTo FashionHouse 1 0.6",
            "School alumnusOfTheYear Designer",
        ),
        seed=123,
    )
    schema.kinds["Agency"] = ["Limelight", "Face First", "Calla Models"]
    return as_tsv(folder, schema, typed=True)


TENTH: dict[str, Callable[..., list[str]]] = {
    **{"helpdesk": helpdesk, "mountains": mountains, "fashion": fashion},
}
