"""Made-up records in every published form, about people and places that do not exist."""

import json
from pathlib import Path
from typing import Any

BRAND = "m.0brand"
VELIN = "m.0velin"


def parse_of(mid: str, name: str, answers: list[dict[str, Any]], chain: list[str]) -> dict:
    return {
        "ParseId": "P0",
        "Sparql": f"SELECT ?x WHERE {{ ns:{mid} ns:{chain[0]} ?x }}",
        "TopicEntityMid": mid,
        "TopicEntityName": name,
        "InferentialChain": chain,
        "Constraints": [],
        "Answers": answers,
    }


def entity(mid: str, name: str | None) -> dict[str, Any]:
    return {"AnswerType": "Entity", "AnswerArgument": mid, "EntityName": name}


SPOKEN = [entity("m.0a", "Velish"), entity("m.0b", "Old Velish")]
LANGUAGES = ("location.country.languages", "location.country.official")
BIRTHDAY = {"AnswerType": "Value", "AnswerArgument": "1961-08-04", "EntityName": None}
BORN = parse_of(BRAND, "Anna Brand", [BIRTHDAY], ["people.person.date_of_birth"])
WEBQSP = [
    {
        "QuestionId": "WebQTest-900",
        "RawQuestion": "what do people in velin speak?",
        "Parses": [parse_of(VELIN, "Velin", SPOKEN[:n], [r]) for n, r in enumerate(LANGUAGES, 1)],
    },
    {"QuestionId": "WebQTest-901", "RawQuestion": "when was anna brand born?", "Parses": [BORN]},
]

CWQ_QUERY = (
    "PREFIX ns: <http://rdf.freebase.com/ns/>\nSELECT DISTINCT ?x\nWHERE {\n"
    "FILTER (?x != ?c)\n?c ns:sports.sports_team.team_mascot ns:m.0luno . \n"
    "?c ns:sports.sports_team.championships ?x .\n?x ns:common.topic.notable_types ns:m.0kind .\n}"
)


def cwq(number: int, **more: Any) -> dict[str, Any]:
    return {
        "ID": f"WebQTrn-{number}_{number:08x}",
        "compositionality_type": ("composition", "conjunction")[number % 2],
        "machine_question": "not for people",
        "question": f"Which cup did the team of mascot number {number} win?",
        "sparql": CWQ_QUERY,
        "webqsp_ID": f"WebQTrn-{number}",
        **more,
    }


CWQ = [
    cwq(1, answers=[{"answer": "Velin Cup", "answer_id": "m.0cup", "aliases": ["Cup of Velin"]}]),
    cwq(2, answers=[{"answer": "1999", "answer_id": "1999", "aliases": []}]),
]
CWQ_TOPICS = [
    cwq(1, topic_entity={"m.0luno": "Luno"}, answer="Velin Cup", qid_topic_entity={}),
    cwq(2, topic_entity={"m.0luno": "Luno"}, answer="1999", qid_topic_entity={}),
]
CWQ_MIDS = [cwq(1, answer=["m.0cup"]), cwq(2, answer=["m.0y", "m.0z"])]
CWQ_SEVERAL = [cwq(1, topic_entity={"m.0luno": "Luno"}, answer=["Velin Cup", "Brel Cup"])]

PLAY_NODES = [
    {"nid": 0, "node_type": "class", "id": "theater.play", "friendly_name": "Play"},
    {"nid": 1, "node_type": "entity", "id": BRAND, "friendly_name": "anna brand"},
    {"nid": 2, "node_type": "literal", "id": "1^^xsd:int", "friendly_name": "1"},
]
QUAY = {"answer_type": "Entity", "answer_argument": "m.0p", "entity_name": "The Quay"}
GRAILQA = [
    {
        **{"qid": 2100000001000, "question": "which play did anna brand produce?"},
        **{"answer": [QUAY], "function": "none", "num_node": 2, "num_edge": 1},
        "graph_query": {"nodes": PLAY_NODES, "edges": []},
        **{"domains": ["theater"], "level": "zero-shot", "sparql_query": "SELECT ?x0"},
        "s_expression": "(AND theater.play)",
    },
    {
        **{"qid": 2100000002000, "question": "how many plays are there?", "function": "count"},
        "answer": [{"answer_type": "Value", "answer_argument": "31"}],
        **{"num_node": 1, "num_edge": 2, "graph_query": {"nodes": [], "edges": []}},
        **{"domains": ["theater"], "level": "i.i.d.", "sparql_query": "SELECT COUNT"},
        "s_expression": "(COUNT theater.play)",
    },
]
GRAILQA_TOPICS = [GRAILQA[0] | {"topic_entity": {BRAND: "Anna Brand"}}]

SIMPLE_LINES = (
    f"www.freebase.com/{BRAND.replace('.', '/')}\twww.freebase.com/people/person/place_of_birth\t"
    "www.freebase.com/m/0velin\twhere was anna brand born\n"
    "www.freebase.com/m/0quay\twww.freebase.com/theater/play/genre\twww.freebase.com/m/0g\t"
    "what kind of play is the quay?\n"
)
ASKED_BIRTH = {"question": "where was anna brand born", "relation": "place_of_birth"}
SIMPLE_TOPICS = [{"topic_entity": {BRAND: "Anna Brand"}, "answer": "Velin", **ASKED_BIRTH}]


def result(**value: Any) -> dict[str, Any]:
    return {"head": {"vars": ["x"]}, "results": {"bindings": [{"x": value}]}}


RULES = "SELECT ?x { wd:Q900002 wdt:P6 ?x }"
PEOPLED = "SELECT ?x { wd:Q900002 wdt:P1082 ?x }"
DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"


def qald(languages: tuple[str, ...]) -> dict[str, Any]:
    texts = [{"language": code, "string": f"Who rules Velin? ({code})"} for code in languages]
    rows = [
        (RULES, result(type="uri", value="http://www.wikidata.org/entity/Q900001")),
        ("ASK { wd:Q900002 wdt:P6 wd:Q900001 }", {"head": {}, "boolean": True}),
        (PEOPLED, result(type="literal", value="+100", datatype=DECIMAL)),
    ]
    return {
        "questions": [
            {"id": str(n), "question": texts, "query": {"sparql": query}, "answers": [answers]}
            for n, (query, answers) in enumerate(rows)
        ]
    }


QALD10_TOPICS = [
    {"answer": answer, "question": text, "sparql": sparql, "qid_topic_entity": {"Q900002": "Velin"}}
    for answer, text, sparql in (
        ({"Q900001": "Mira Tal"}, "Who rules Velin? (en)", RULES),
        ({"+100": "+100"}, "How many live in Velin?", PEOPLED),
    )
]

METAQA_LINES = "who directed [The Quay]\tAnna Brand|Mira Tal\n[Mira Tal] acted in what\tThe Quay\n"
RELEASED_WHEN = {
    "question": "when were films by Anna Brand released",
    "relation_path": ["~directed_by", "release_year"],
}
METAQA = [
    {"id": "metaqa_2hop_dev_0", **RELEASED_WHEN, "topic_entity": "Anna Brand", "answers": ["1999"]}
    | {"qtype": "director_to_movie_to_year", "hops": 2, "split": "dev"}
]

PATHQUESTION = (
    "who is the parent of anna_brand 's spouse ?\ttal_(poet)(mira_tal/tal_(poet)/)\t"
    "anna_brand#spouse#ivo_tal#parents#tal_(poet)#<end>#tal_(poet)\n"
    "what is anna_brand 's place ?\tvelin(velin/)\tanna_brand#place#velin\n"
)

VOTED = {"id": "S900", "query": "Could Anna Brand have voted in Velin?", "answer": True}
OLDER = {"id": "S901", "query": "Is the Quay older than Velin?", "answer": False}
STARVED = {"qid": "00ff", "question": "Would a sailor starve in Velin?", "answer": False}
COLOTA = [
    {
        **VOTED,
        "kg_entities": {"Anna Brand": "Q900003"},
        "kg_triples": ["(Anna Brand, country, Velin)"],
        "inference_rule": "One votes at home.",
        "reasoning_strategy": ["political", "historical"],
        "reasoning_steps": [{"step": "She lives there."}],
    }
]
CR_LT = [
    {
        **OLDER,
        "KG Entities": {"The Quay": "Q900004"},
        "KG Triples": "1- (The Quay, inception, 1999)",
        "Inference Rule": "Older things begin earlier.",
        "Reasoning Strategy": ["temporal reasoning"],
        "Reasoning Steps": [{"Step": "1999."}],
    }
]
STRATEGYQA = [
    {
        **STARVED,
        **{"term": "Velin", "description": "A country that is not", "evidence": []},
        "facts": ["Velin has a coast."],
        "decomposition": ["Does Velin have a coast?", "Is #1 yes?"],
    }
]
GRBENCH = [
    {"qid": "0", "question": "Who wrote The Quay?", "answer": "Anna Brand, Mira Tal"},
    {"qid": "1", "question": "How many wrote it?", "answer": "2"},
]
BENCH = [
    {
        **{"index": 0, "type": "3-hop", "question": "Where does it end?", "answers": ["Velin"]},
        "name_path": "Anna Brand -> a.b.c -> X -> d.e.f -> Y -> g.h.i -> Velin",
        "topic_entity": {BRAND: "Anna Brand"},
    },
    {
        **{"index": 1, "type": "2i", "question": "Which play is of both?"},
        "name_path1": "Anna Brand -> a.b.c -> The Quay",
        "name_path2": "Mira Tal -> d.e.f -> The Quay",
        "topic_entities": {BRAND: "Anna Brand", "m.0tal": "Mira Tal"},
        "answers": {"m.0p": "The Quay"},
    },
    {
        **{"index": 2, "type": "pi", "question": "Which town?", "answers": ["Brel"]},
        **{"id": "conj_pi_2", "path_id": 9, "topic_entity": {"Velin": "Velin"}},
        "name_path1": "Velin -> a.b.c -> X -> d.e.f -> Brel",
        "name_path2": "Quay -> g.h.i -> Brel",
    },
]


def released(id: str, kind: str) -> list[dict[str, Any]]:
    found = {"answers": ["Brel United", "Velin City"], "topic_entity": {VELIN: "Velin"}}
    return [{"id": id, "question": "Which team won?", "compositionality_type": kind, **found}]


TOPICS = [{"id": "m.1", "name": "A"}]
NAMED = [{"id": "m.2", "name": "B", "aliases": ["b"]}]
OURS = [{"id": "q1", "question": "Who?", "topic_entities": TOPICS, "answers": NAMED, "hops": 1}]


def write(path: Path, records: Any) -> Path:
    """Lines where they are text, JSON lines where the name says so, else one JSON document."""
    if isinstance(records, str):
        path.write_text(records, encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in records), encoding="utf-8")
    else:
        path.write_text(json.dumps(records, indent=1), encoding="utf-8")
    return path


FLOWS = {"question": "which river flows through Velin", "answer": ["Mira"], "q_entity": ["Velin"]}
RIVER = ["Velin", "location.citytown.river", "Mira"]
OWN_GRAPHS = [{"id": "q-1", **FLOWS, "a_entity": ["Mira"], "graph": [RIVER]}]
LCQUAD = [
    {
        "uid": 7, "question": "Where was Ana born?", "paraphrased_question": [], "answer": [],
        "NNQT_question": "What is {place of birth} of {Ana}", "template_index": 65,
        "sparql_wikidata": " select distinct ?answer where { wd:Q1 wdt:P19 ?answer}",
    },
]  # fmt: skip
MINTAKA = [
    {
        "id": "a9011ddf", "question": "Who wrote Ombra?", "translations": {"de": "?"},
        "questionEntity": [{"name": "Q7", "entityType": "entity", "label": "Ombra"},
                           {"name": 2, "entityType": "ordinal", "label": None}],
        "answer": {"answerType": "entity", "mention": "Ana",
                   "answer": [{"name": "Q1", "label": {"en": "Ana", "de": "Anna"}}]},
        "category": "books", "complexityType": "generic",
    },
    {
        "id": "b1", "question": "How many books?", "questionEntity": [],
        "answer": {"answerType": "numerical", "answer": [3], "mention": "3"},
        "category": "books", "complexityType": "count",
    },
]  # fmt: skip
KQAPRO = [
    {
        "question": "Who wrote Ombra?", "choices": ["Ana", "Ben"], "answer": "Ana",
        "program": [{"function": "Find", "dependencies": [], "inputs": ["Ombra"]},
                    {"function": "Relate", "dependencies": [0], "inputs": ["author", "forward"]},
                    {"function": "What", "dependencies": [1], "inputs": []}],
    },
]  # fmt: skip
OWN = [
    {"question": "Where does Ana work?", "answer": "Research | Sales", "topic": "Ana"},
    {"question": "Who works in Research?", "answer": ["Ana"]},
]
FILES = {
    "webqsp": ("WebQSP.test.json", {"Version": "1.0", "Questions": WEBQSP}),
    "cwq": ("cwq_dev.json", CWQ),
    "grailqa": ("grailqa_v1.0_dev.json", GRAILQA),
    "simplequestions": ("annotated_fb_data_valid.txt", SIMPLE_LINES),
    "qald9plus": ("qald_9_plus_test_wikidata.json", qald(("en", "de", "lt"))),
    "qald10": ("qald_10.json", qald(("en", "zh", "de", "ru"))),
    "metaqa": ("qa_test.txt", METAQA_LINES),
    "pathquestion": ("PQ-2H.txt", PATHQUESTION),
    "colota": ("CoLoTa_qa.json", COLOTA),
    "strategyqa": ("dev.json", STRATEGYQA),
    "grbench": ("goodreads.jsonl", GRBENCH),
    "graphwalkerbench": ("GWBench.json", BENCH),
    "ours": ("questions.jsonl", OURS),
    "own": ("mine.jsonl", OWN),
    "lcquad2": ("train.json", LCQUAD),
    "mintaka": ("mintaka_train.json", MINTAKA),
    "kqapro": ("val.json", KQAPRO),
    "own-graphs": ("rog.jsonl", OWN_GRAPHS),
}
"""One file of every dataset, in its published form."""
OTHERS = {
    "WebQSP_bare.json": ("webqsp", WEBQSP),
    "cwq_test_topic_entities.json": ("cwq", CWQ_TOPICS),
    "cwq_train_answer_mids.json": ("cwq", CWQ_MIDS),
    "cwq_several.json": ("cwq", CWQ_SEVERAL),
    "graliqa.json": ("grailqa", GRAILQA_TOPICS),
    "SimpleQA.json": ("simplequestions", SIMPLE_TOPICS),
    "qald_10-en.json": ("qald10", QALD10_TOPICS),
    "qa_2hop_dev.jsonl": ("metaqa", METAQA),
    "CR-LT-QA.json": ("colota", CR_LT),
    "cwq_test.json": ("cwq", released("cwq_0", "composition")),
    "webqsp_test.json": ("webqsp", released("WebQTest-12", "unknown")),
    "grailqa_test_1000.json": ("grailqa", released("2100", "zero-shot")),
}
"""The other forms in which some of them are published."""
