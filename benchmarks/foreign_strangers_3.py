"""Three more graphs as strangers bring them: concerts as N-Triples of schema.org's kind, an estate
agency's CSV tables with keys of one another, drugs and genes with Hetionet's verbs and types."""

import random
from collections.abc import Callable
from pathlib import Path

from benchmarks.foreign_data import COUNTRIES, cities, people, titles
from benchmarks.foreign_schemas import Schema, as_linked_data, as_tables, as_tsv, relations


def concerts(folder: Path) -> list[str]:
    rng = random.Random(51)
    folk, towns, names = people(60, rng), cities(16, rng), titles(70, rng)
    schema = Schema(
        {
            "MusicEvent": [f"{town} Nights {y}" for town in towns[:6] for y in (2018, 2019, 2021)],
            "Festival": ["Harbor Sounds", "Open Valley", "Winterklang", "Lakeside Days"],
            "MusicGroup": names[:24],
            "MusicAlbum": names[24:64],
            "Person": folk,
            "MusicVenue": [f"{town} Hall" for town in towns[:10]],
            "City": towns,
            "Organization": ["Blue Note Union", "Echo Foundation", "Radio Varn", "Norbank"],
            "RecordLabel": ["Saltwater Records", "Nine Lanterns", "Copperhead"],
            "Genre": ["folk", "techno", "jazz", "shoegaze"],
            "Prize": ["Golden Reed", "Critics Prize", "Newcomer Award"],
            "Date": [f"{y}-0{m}-12" for y in (2018, 2019, 2021) for m in (3, 6, 8)],
        },
        relations(
            "MusicEvent performer MusicGroup 2",
            "MusicEvent location MusicVenue",
            "MusicEvent organizer Organization",
            "MusicEvent superEvent Festival",
            "MusicEvent startDate Date",
            "MusicEvent offeredBy Organization 1 0.4",
            "Festival sponsor Organization 2",
            "Festival firstHeldIn City",
            "MusicGroup member Person 3",
            "MusicGroup genre Genre",
            "MusicGroup foundingLocation City",
            "MusicGroup signedTo RecordLabel",
            "MusicGroup award Prize 1 0.5",
            "MusicGroup influencedBy MusicGroup 1 0.5",
            "MusicAlbum byArtist MusicGroup",
            "MusicAlbum producer Person",
            "MusicAlbum recordedAt MusicVenue 1 0.5",
            "MusicAlbum followUpTo MusicAlbum 1 0.4",
            "MusicVenue containedInPlace City",
            "MusicVenue ownedBy Organization",
            "Person birthPlace City",
            "Person plays Instrument",
            "Person knows Person 1 0.6",
            "Person colleague Person 1 0.4",
            "Organization hasBranchIn City 2",
            "RecordLabel parentOrganization Organization",
            "RecordLabel founder Person",
        ),
        untyped=("Date",),
        seed=51,
    )
    schema.kinds["Instrument"] = ["cello", "drums", "oboe", "bass guitar", "accordion"]
    return as_linked_data(
        folder, schema, "https://concerts.example/id/", "http://schema.org/", "http://schema.org/"
    )


def estate(folder: Path) -> list[str]:
    rng = random.Random(52)
    folk = people(110, rng)
    streets = ("Mill Lane", "Rose Street", "Dock Road", "Elm Grove", "Park Row")
    schema = Schema(
        {
            "property": [f"{n} {street}" for street in streets for n in (2, 5, 9, 14, 31, 40)],
            "agent": folk[:14],
            "buyer": folk[14:70],
            "seller": folk[70:100],
            "branch": [f"{side} branch" for side in ("North", "South", "Harbor", "Hill")],
            "neighbourhood": ["Oldtown", "Riverside", "Newfields", "The Docks"],
            "price": [f"{n}000" for n in range(180, 420, 20)],
            "year": [str(y) for y in range(1901, 1999, 7)],
            "heating": ["gas", "heat pump", "district heating", "oil"],
            "cert": ["A", "B", "C", "D", "E"],
            "bank": ["Norbank", "Savings & Loan", "Credit Varn"],
            "language": ["Mersian", "Taul", "English", "Volgan"],
            "school": ["Elm Grove Primary", "St. Orla School", "Dock Road School"],
        },
        relations(
            "property listing_agent_id agent",
            "property asking_price_eur price",
            "property year_built year",
            "property in_neighbourhood neighbourhood",
            "property heating_type heating",
            "property energy_cert cert",
            "property owned_by seller",
            "property sold_to buyer 1 0.5",
            "property school_catchment school",
            "agent works_at_branch branch",
            "agent speaks_language language 2",
            "agent mentor_id agent 1 0.6",
            "buyer viewed property 2",
            "buyer made_offer_on property 1 0.6",
            "buyer mortgage_with bank",
            "buyer prefers_area neighbourhood",
            "buyer referred_by_agent agent 1 0.5",
            "seller moved_to neighbourhood 1 0.5",
            "seller represented_by agent",
            "branch branch_mgr agent",
            "branch opened_in year",
            "branch covers_area neighbourhood 2",
            "school head_teacher seller",
        ),
        seed=52,
    )
    return as_tables(folder, schema)


def hetionet(folder: Path) -> list[str]:
    rng = random.Random(53)
    genes = [f"{a}{n}" for a in ("TP", "BRC", "KRS", "EGF", "MYC", "ABL") for n in range(1, 9)]
    rng.shuffle(genes)
    stems = ("ali", "ceta", "dora", "feno", "ketro", "lumi", "nova", "prota", "rivo", "zelo")
    schema = Schema(
        {
            "Gene": genes,
            "Compound": [f"{stem}{end}" for stem in stems for end in ("mab", "statin", "cillin")],
            "Disease": [
                *("asthma", "gout", "glioma", "psoriasis", "epilepsy", "malaria", "anemia"),
                *("hypertension", "migraine", "lupus", "rickets", "scurvy"),
            ],
            "Anatomy": ["liver", "cortex", "spleen", "retina", "bone marrow", "tonsil"],
            "Pathway": [f"{one} signaling" for one in ("Wnt", "Notch", "insulin", "Hedgehog")],
            "Symptom": ["fever", "nausea", "vertigo", "rash", "fatigue", "tremor"],
            "Side Effect": ["dry mouth", "insomnia", "hair loss", "dizziness"],
            "Pharmacologic Class": ["beta blockers", "statins", "antibiotics", "opioids"],
            "Country": COUNTRIES,
        },
        relations(
            "Compound binds Gene 2",
            "Compound upregulates Gene 1 0.6",
            "Compound downregulates Gene 1 0.6",
            "Compound treats Disease 1 0.8",
            "Compound palliates Disease 1 0.5",
            "Compound resembles Compound 1 0.6",
            "Compound causes Side_Effect 2",
            "Pharmacologic_Class includes Compound 6",
            "Compound first_approved_in Country",
            "Disease associates_with Gene 3",
            "Disease presents Symptom 2",
            "Disease localizes_to Anatomy 2",
            "Disease is_subtype_of Disease 1 0.4",
            "Anatomy expresses Gene 5",
            "Gene participates_in Pathway",
            "Gene covaries_with Gene 1 0.5",
            "Gene regulates Gene 1 0.6",
            "Gene is_silenced_by Gene 1 0.2",
        ),
        seed=53,
    )
    schema.kinds["Side_Effect"] = schema.kinds.pop("Side Effect")
    schema.kinds["Pharmacologic_Class"] = schema.kinds.pop("Pharmacologic Class")
    return as_tsv(folder, schema, typed=True)


THIRD: dict[str, Callable[..., list[str]]] = {
    **{"concerts": concerts, "estate": estate, "hetionet": hetionet},
}
