"""What a toy run of a chain reads: a small world, a tiny model, questions under benchmarks' names.

A config has a section `toy`: settings that replace its own for such a run. Files that they name
below `RUN/toy` are made here: `world/graph`, `model`, `virtuoso`, `questions/DATASET-SPLIT.jsonl`.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.agents.model_environment import flat
from graphwalker.config import parse_config, read_settings
from graphwalker.console import console
from graphwalker.errors import UserError
from graphwalker.jobs.sections import texts

FOLDER = "toy"
ENTITIES = 3000
"""Named entities of the world."""
TESTS, TRAIN = 24, 600
"""Questions of a file to test on, and of one to train on."""
SAMPLING = {
    **{"mix": {"1-hop": 3.0, "2-hop": 5.0, "2I": 2.0}, "vague": 0.1},
    **{"max_degree": 3, "max_answers": 3, "max_frontier": 2},
}
"""Questions that a tiny model learns to answer in minutes."""


def toy_overrides(path: Path | str) -> list[str]:
    """Return the config's section `toy` as settings `a.b=c`. Raises `UserError` without one."""
    from omegaconf import OmegaConf

    from graphwalker.config import config_file

    read_settings(path)  # refuses what a config may not hold
    loaded: Any = OmegaConf.to_container(OmegaConf.load(config_file(path)), resolve=False)
    if not isinstance(toy := loaded.get("toy"), dict):
        raise UserError(f"{path}: it has no section toy")
    settings = flat(cast(Mapping[str, Any], toy)).items()
    return [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in settings]


def make_toy(settings: Mapping[str, Any]) -> None:
    """Make what the settings of a toy run name below `RUN/toy` and what is not there."""
    folder = Path(str(settings["run"])) / FOLDER
    named = {text for text in texts(settings) if text.startswith(f"{folder}/")}
    if named and not (folder / "world" / "graph").exists():
        from graphwalker.world.generate import make_world

        console.note(f"a small world in {folder / 'world'} ...")
        make_world(ENTITIES, 0, folder / "world")
    files = sorted(name for name in named if name.startswith(f"{folder}/questions/"))
    for number, name in enumerate(files):
        if not Path(name).exists():
            _make_questions(folder, Path(name), number)
    model = folder / "model"
    if str(model) in named and not model.exists():
        environment = parse_config(EnvironmentConfig, settings.get("environment") or {}, "toy")
        _make_model(folder, model, files, environment)
    if str(folder / "virtuoso") in named and not (folder / "virtuoso").exists():
        _load_virtuoso(folder)


def _make_questions(folder: Path, file: Path, seed: int) -> None:
    """Certified questions of the world, under the name of the benchmark whose place they take."""
    from data_pipeline.config import SynthConfig
    from data_pipeline.synthesize import make_questions
    from graphwalker.files import read_jsonl, write_jsonl

    dataset, _, split = file.stem.rpartition("-")
    dataset, _, part = dataset.partition("-")
    count, side = (TRAIN, "train") if split == "train" else (TESTS, "test-entity")
    config = SynthConfig.model_validate(
        {**SAMPLING, "count": count, "seed": seed, "sparql": True, "split": side}
    )
    made = folder / "made" / file.stem
    console.note(f"{count} questions as {dataset} ({split}) ...")
    make_questions(str(folder / "world" / "graph"), config, made)
    records = read_jsonl(made / "questions.jsonl")
    if dataset == "colota":
        records = _statements(folder, records)
    file.parent.mkdir(parents=True, exist_ok=True)
    facets = {"graph": part} if part else {"level": "zero-shot"} if dataset == "grailqa" else {}
    named = {"dataset": dataset, **({"facets": facets} if facets else {})}
    write_jsonl(file, [{**record, **named} for record in records])


def _statements(folder: Path, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield statements about the questions' topics, every second one false, with their evidence."""
    from graphwalker.datasets.answers import yes_no
    from graphwalker.datasets.evidence import EVIDENCE
    from graphwalker.graphs.base import Direction
    from graphwalker.graphs.open import open_graph
    from graphwalker.question import Question

    graph, out = open_graph(str(folder / "world" / "graph")), Direction.OUT
    for number, record in enumerate(records):
        (topic, *_), truth = Question.from_json(record).topic_entities, number % 2 == 0
        known = [r for r, _ in graph.relations(topic.id, out) if not graph.leads_to_cvts(r, out)]
        if not known:
            continue
        relation = known[number % len(known)]
        ends = {end.name for end in graph.neighbors(topic.id, relation, out)}
        others = (name for name in (one.name for one in graph.sample(9, number)) if name)
        named = min(ends) if truth else next(name for name in others if name not in ends)
        facts: list[Any] = [[topic.name, relation, end, []] for end in sorted(ends)]
        text, gold = f"Is {named} among {relation} of {topic.name}?", (yes_no(truth),)
        about = {EVIDENCE: facts}
        question = Question(
            record["id"], text, (topic,), gold, structure="yes-no", annotations=about
        )
        yield question.to_json()


def _make_model(
    folder: Path, model: Path, questions: list[str], environment: EnvironmentConfig
) -> None:
    """Make the model of the demo, whose words are those of trajectories and of `questions`."""
    from data_pipeline.config import SynthConfig
    from data_pipeline.synthesize import synthesize
    from graphwalker.datasets.base import load_questions
    from graphwalker.demo.data import make_tiny_model
    from graphwalker.graphs.browse import shown_relations
    from graphwalker.graphs.open import open_graph
    from training.tiny.config import demo_model

    console.note("a tiny model ...")
    settings = {**SAMPLING, "count": TRAIN, "plain_thoughts": True, "environment": environment}
    words = folder / "made" / "words"
    synthesize(str(folder / "world" / "graph"), SynthConfig.model_validate(settings), words)
    texts = [question.text for name in questions for question in load_questions(Path(name))]
    graph, corpus = open_graph(str(folder / "world" / "graph")), words / "graphsynth.jsonl"
    small = demo_model(len(list(shown_relations(graph))), 0)
    make_tiny_model(small, corpus, graph, model, environment, texts)


def _load_virtuoso(folder: Path) -> None:
    from graphwalker.graphs.virtuoso.load import load
    from graphwalker.graphs.virtuoso.server import down, up

    console.note("the world in a Virtuoso of its own ...")
    world, server = folder / "world", folder / "virtuoso"
    up(server)
    try:
        load(server, [world / "triples.tsv.gz"], [world / "names.tsv.gz"], [world / "types.tsv.gz"])
    finally:
        down(server)
