"""The config of the whole road, as `graphwalker demo` reads it, and where the shipped ones lie."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphwalker.config import Config, RunSeed
from graphwalker.console import console
from graphwalker.errors import UserError
from graphwalker.files import write_text
from graphwalker.graphs.base import Direction, KnowledgeGraph

Settings = dict[str, Any]


class DemoConfig(Config):
    """`graphwalker demo`: the sections of configs/demo.yaml, each checked by its own stage."""

    seed: RunSeed = 0
    """Another seed is another world, other data, weights and draws: ten times this number is added
    to the seed of every section."""
    run: str = "runs/demo"
    """Folder of the run."""
    graph: str = ""
    """Graph to walk. Where nothing lies at this path inside the run, a fictional world is made."""
    model: str = ""
    """Model to start from. Where nothing lies at this path inside the run, a tiny one is made."""
    environment: Settings = {}
    """Tools, limits and prompt, which the other sections refer to."""
    teacher: Settings = {}
    """The chat model that words questions and thoughts; without an address the phrase bank does."""
    jobs: Settings = {}
    """What `graphwalker jobs submit` tells Slurm; the demo needs no jobs."""
    synth: Settings = {}
    """GraphSynth, for stage 1 (see `graphwalker config synth`)."""
    rl: Settings = {}
    """Certified questions, for the experts."""
    practice: Settings = {}
    """Certified questions for GRPO."""
    test: Settings = {}
    """Questions whose topic entities no training question has."""
    test_words: Settings = {}
    """The same in wordings that no demonstration has."""
    experts: Settings = {}
    """GraphRoll, for stage 2 (see `graphwalker config experts`)."""
    sft1: Settings = {}
    """SFT stage 1 (see `graphwalker config sft`)."""
    sft2: Settings = {}
    """SFT stage 2."""
    grpo: Settings = {}
    """GRPO (see `graphwalker config grpo`)."""
    eval: Settings = {}
    """Evaluation, of every stage in turn (see `graphwalker config eval`)."""
    benchmarks: dict[str, str] = {}
    """Question files (name: path) that the agent answers greedily before and after GRPO, besides
    the test questions."""


def shipped_config(full: bool = False) -> Path:
    """Return the demo's settings, from the source tree or the installed package."""
    here, name = Path(__file__).parents[1], "demo-full.yaml" if full else "demo.yaml"
    for folder in (here.parent / "configs", here / "configs"):
        if (folder / name).is_file():
            return folder / name
    raise UserError(f"{name} is missing from this installation: reinstall graphwalker")


FEWEST, MOST = 100, 200_000
"""Entities of the smallest graph that a tiny agent learns anything on, and of the largest whose
names its tokenizer can hold."""
SETS = "synth", "rl", "practice", "test", "test_words"
USUAL: Settings = {"max_degree": 5, "max_answers": 5, "max_frontier": 5}
ALL_WORDS: Settings = {"splits": {"wording_share": 0.0}, "wordings": "all"}
WORDINGS = 3
"""A relation with so many wordings has some to hold out."""
WORDED = "worded.txt"
"""File in the run of the relations that are asked about in held-out words."""


def for_own_graph(config: DemoConfig) -> DemoConfig:
    """Return the settings of a demo on `config.graph`, which is there already: walks of the usual
    degrees (the made world has hubs to keep off), and held-out words where a relation has some.

    Raises `UserError` for a graph that is too small or too large for a tiny model, or whose
    entities cannot be listed.
    """
    from graphwalker.graphs.open import open_graph

    serve = f"ask it without training: graphwalker serve --graph {config.graph} --model "
    graph = open_graph(config.graph)
    size = getattr(graph, "size", None)
    if not isinstance(size, int):
        raise UserError(
            f"{config.graph}: its entities cannot be listed, which a tiny model needs: compile it "
            f"(graphwalker graph build), or {serve}first-relation"
        )
    if not FEWEST <= size <= MOST:
        raise UserError(
            f"{config.graph} has {size:,} entities, and a tiny model learns graphs of {FEWEST} to "
            f"{MOST:,}: train a pretrained model (docs/recipe.md), or {serve}first-relation"
        )
    many, few = by_wordings(graph)
    words = {} if many else ALL_WORDS
    sections = {name: {**getattr(config, name), **USUAL, **words} for name in SETS}
    sections["test"]["count"] = max(100, int(config.test.get("count", 0)))
    if many:
        write_text(Path(config.run) / WORDED, "".join(f"{one}\n" for one in many))
        sections["test_words"]["predicates_file"] = f"{config.run}/{WORDED}"
    else:
        sections["test_words"] = {}
    console.note(describe_wordings(many, few))
    return config.model_copy(update=sections)


def by_wordings(graph: KnowledgeGraph) -> tuple[list[str], list[str]]:
    """Return the relations with wordings enough to hold some out, and the others."""
    from data_pipeline.wording.vocabulary import lexicon_of
    from graphwalker.query.query import Hop

    lexicon = lexicon_of(graph)
    many, few = list[str](), list[str]()
    for relation in sorted(graph.relation_ids()):
        entries = [lexicon.entry(Hop(relation, direction)) for direction in Direction]
        most = max(len({*e.phrases, *e.clauses, *e.questions, *e.casual}) for e in entries)
        (many if most >= WORDINGS else few).append(relation)
    return many, few


def describe_wordings(many: Sequence[str], few: Sequence[str]) -> str:
    """Return what a person is told of them.

    >>> describe_wordings([], ["made_by"])
    'questions in held-out words: none, as no relation has 3 wordings (made_by)'
    """
    some = ", ".join(few[:5]) + (", ..." if len(few) > 5 else "")
    if not many:
        return f"questions in held-out words: none, as no relation has {WORDINGS} wordings ({some})"
    rest = f"; not about {len(few)}, which have fewer than {WORDINGS} wordings: {some}"
    return f"questions in held-out words: about {len(many)} relations{rest if few else ''}"
