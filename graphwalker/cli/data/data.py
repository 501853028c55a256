"""Training data, by stage or whole: from walks to trajectories, and to other libraries' files."""

import atexit
import gc
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from graphwalker.cli.shared import C, CommandOptions, verb
from graphwalker.console import console
from graphwalker.console.endings import describe_shortage, show_ending, show_shortage
from graphwalker.errors import GraphWalkerError, IncompleteError, UserError

app = typer.Typer()

Files = list[Path] | None
Card = dict[str, Any]
MAKING = ("graph!", "out!", "count", "seed", "workers", "engine", "shard")
CARD = ("stage", "count", "like", "attempts", "yield", "structures", "splits", "dropped",
        "unseen_structures", "shared_with_training")  # fmt: skip
"""What the terminal shows of a data card; the whole card is in the folder."""


def _make(title: str, given: CommandOptions, model: type[C], make: Callable[..., Card]) -> None:
    """Run a stage of the pipeline, whole or the shard that was asked for."""
    from data_pipeline.jobs.shards import Shard

    part = {"shard": Shard.parse(text)} if (text := given.get("shard")) else {}
    run = partial(make, given.graph, config=given.settings(model), out=given.out, **part)
    _show(title, run)


def _show(title: str, run: Callable[..., Card]) -> Card:
    with console.progress(title) as tick:
        card = run(progress=tick)
    atexit.register(_leave_objects)
    console.facts(title, {key: card[key] for key in CARD if card.get(key)})
    if card.get("count") == 0:
        raise GraphWalkerError(f"{title}: nothing was kept; the folder's data card has the reasons")
    show_shortage(card)
    return card


def _end(given: CommandOptions, made: Path, *following: tuple[str | Path, ...]) -> None:
    """Say what was made and what may follow; a shard is merged first.

    Raises `IncompleteError` where the graph has fewer questions than were asked for.
    """
    from graphwalker.files import read_json

    if given.get("shard"):
        return
    show_ending(made, *following)
    if shortage := describe_shortage(read_json(made.with_name("datacard.json"))):
        raise IncompleteError(shortage)


def _settings_for_next(given: CommandOptions) -> list[str]:
    """Return what the next stage of `synth` must be given, too: it words and certifies what this
    one made by the same seed, seeds, phrases and layers of the graph."""
    from data_pipeline.like import FOLDER
    from data_pipeline.seeds.files import PREDICATES, SEEDS

    files = {
        "seeds_file": given.out / FOLDER / SEEDS,
        "predicates_file": given.out / FOLDER / PREDICATES,
    }
    own = given.places - {"seed"}
    settings = {text.partition("=")[0]: text for text in given.overrides}
    settings |= {"seed": f"seed={given.values['seed']}"} if "seed" in given.values else {}
    found = {key: f"{key}={file}" for key, file in files.items() if file.exists()} | settings
    config = ["--config", str(given.config)] if given.config else []
    return [*config, *(text for key, text in found.items() if key not in own)]


def _environment_of(given: CommandOptions) -> list[str]:
    """Return the typed settings of the environment, which is that of any next stage."""
    return [text for text in given.overrides if text.startswith("environment.")]


def _sft(name: str, made: Path, out: str, *more: str) -> tuple[str, ...]:
    return ("sft", "--config", f"configs/{name}.yaml", *more, f"data=[{made}]", f"output_dir={out}")


def _leave_objects() -> None:
    """Leave the objects to the system as the process ends: looking for cycles among the millions
    of a stage takes seconds. DuckDB reports what is not freed as leaks, so it is spared."""
    if "duckdb" not in sys.modules:
        gc.freeze()


@verb(app, *MAKING)
def synth(given: CommandOptions) -> None:
    """Make GraphSynth in one go: walks, questions, filter, certificates, oracle trajectories.

    Example: graphwalker synth --graph runs/graph --count 5000 --seed 0 --out runs/synth
    """
    from data_pipeline import config, synthesize

    _make("synth", given, config.SynthConfig, synthesize.synthesize)
    made = given.out / "graphsynth.jsonl"
    _end(given, made, ("verify", made, "--graph", given.graph), _sft("sft", made, "runs/sft1"))


@verb(app, *MAKING)
def walk(given: CommandOptions) -> None:
    """Step 1 of `synth`: sample constrained random walks and execute them for their answers.

    Over an endpoint, walks start from seeds_file=FILE and take relations of predicates_file=FILE.

    Example: graphwalker walk --graph runs/graph --count 1000 --out runs/walks
    """
    from data_pipeline import config, synthesize

    _make("walk", given, config.SynthConfig, synthesize.make_walks)
    made = given.out / "walks.jsonl"
    words = ("questions", "--graph", given.graph, "--walks", made, "--out", "runs/q")
    _end(given, made, (*words, *_settings_for_next(given)))


@verb(app, *MAKING)
def questions(
    given: CommandOptions,
    walks: Annotated[Path | None, Option(help="walks.jsonl of `graphwalker walk`.")] = None,
) -> None:
    """Step 2 of `synth`: turn walks into questions, or make a whole certified question set.

    Without --walks: a question set for evaluation or RL. split=test-entity and split=test-path
    make questions that training never has.

    Example: graphwalker questions --graph runs/graph --walks runs/walks/walks.jsonl --out runs/q
    """
    from data_pipeline import config, synthesize

    made = given.out / "questions.jsonl"
    asks = ("--graph", given.graph, "--questions", made)
    if walks is None:
        _make("questions", given, config.SynthConfig, synthesize.make_questions)
        plain = ("eval", *asks, "--model", "first-relation", "--out", "runs/first-relation")
        more = _environment_of(given)
        _end(given, made, (*plain, *more), ("experts", *asks, "--out", "runs/roll", *more))
        return
    if given.get("shard"):
        raise UserError("--shard is for whole question sets: do not give --walks with it")
    _make("questions", given, config.SynthConfig, partial(synthesize.word_questions, source=walks))
    _end(given, made, ("filter", *asks, "--out", "runs/filtered", *_settings_for_next(given)))


@verb(app, "graph!", "questions!", "out!", "workers", name="filter")
def filter_(given: CommandOptions) -> None:
    """Step 3 of `synth`: keep what passes the quality filter and every certificate.

    Example: graphwalker filter --graph runs/graph --questions runs/q/questions.jsonl --out runs/f
    """
    from data_pipeline import config, synthesize

    keep = partial(synthesize.filter_questions, source=given.questions)
    _make("filter", given, config.SynthConfig, keep)
    made = given.out / "filtered.jsonl"
    asks = ("--graph", given.graph, "--questions", made)
    _end(given, made, ("experts", *asks, "--out", "runs/roll", *_environment_of(given)))


@verb(app, "questions!", *MAKING, "trust")
def experts(given: CommandOptions) -> None:
    """Make GraphRoll: an expert errs and recovers; episodes that end right and grounded are kept.

    Example: graphwalker experts --graph runs/graph --questions runs/rl/questions.jsonl
    --out runs/roll
    """
    from data_pipeline import config
    from data_pipeline.experts.experts import make_experts

    play = partial(make_experts, questions=given.questions)
    _make("experts", given, config.ExpertConfig, play)
    made = given.out / "graphroll.jsonl"
    _end(given, made, _sft("sft-stage2", made, "runs/sft2", "model=runs/sft1/final"))


@verb(
    app, "graph!", "out!", "api", "model", file="File for the result.", api="teacher.base_url",
    model="teacher.model",
)  # fmt: skip
def phrases(given: CommandOptions) -> None:
    """Write how a graph's relations are put into words, as a file (--out F) to edit.

    The commands that make questions take it as phrases_file=F; its words win over all others.
    With --api and --model: what a chat model writes (teacher.prices.max_cost caps the cost; the
    same command resumes).

    Example: graphwalker phrases --graph runs/graph --out words.toml, then
    graphwalker synth --graph runs/graph --out runs/synth phrases_file=words.toml
    """
    from data_pipeline.config import PhrasesConfig
    from data_pipeline.phrasing.by_model import by_model
    from data_pipeline.wording.vocabulary import write_used_words
    from graphwalker.graphs.open import open_graph
    from graphwalker.runs import locked_file

    settings = given.settings(PhrasesConfig)
    with locked_file(given.out):
        if given.out.exists():
            raise UserError(f"{given.out} already exists; choose another --out")
        opened = open_graph(given.graph)
        if settings.teacher.chats:
            with console.progress("relations") as tick:
                facts = by_model(opened, given.graph, given.out, settings, tick)
        else:
            facts = write_used_words(opened, given.graph, given.out)
    console.facts("phrases", facts)
    words = ("synth", "--graph", given.graph, "--out", "runs/synth", f"phrases_file={given.out}")
    show_ending(given.out, words, examples=False)


@verb(app, "graph!", "out!", "count", "seed", "workers")
def bench(
    given: CommandOptions,
    against: Annotated[
        Files, Option(help="Training data whose questions are not repeated.")
    ] = None,
) -> None:
    """Make GraphWalkerBench on any graph: certified test questions of the paper's Table 7.

    Some structures are those of training and some are not. Writes GWBench.json, which
    `graphwalker eval` and `graphwalker dataset check` read, and our JSONL.

    Example: graphwalker bench --graph runs/graph --against runs/synth/graphsynth.jsonl
    --against runs/roll/graphroll.jsonl --out runs/bench
    """
    from data_pipeline import config, graphwalkerbench

    make = partial(graphwalkerbench.make_bench, against=against or [])
    _make("bench", given, config.BenchConfig, make)
    file = given.out / "GWBench.json"
    asks = ("--graph", given.graph, "--questions", file, "--model", "first-relation")
    _end(given, given.out / "questions.jsonl", ("eval", *asks, "--out", "runs/first-relation"))


@verb(app, "graph", "questions", "out!", "workers", "force_base", "trust", settings=False)
def merge(
    given: CommandOptions,
    run: Annotated[Path | None, Argument(help="A LoRA run or its adapter.")] = None,
) -> None:
    """Join parts: a LoRA adapter and its base model, or the shards of a job array.

    RUN's whole model goes to --out; or the shards below --out become, with their --graph (and for
    `experts` their --questions), the bytes of the run without shards. Shards that are missing or
    unfinished are named (exit code 2). Shards of an evaluation need no graph: what each has done is
    joined, and missing questions are named, by id with --questions (exit code 3).

    Examples: graphwalker merge runs/sft-lora --out runs/sft-merged;
    graphwalker merge --graph runs/graph --out runs/synth
    """
    from data_pipeline.merge import merge as join
    from eval.run.shards import has_shards, merge_shards

    path = Path(text) if (text := given.get("questions")) else None
    if run is None and has_shards(given.out):
        lost = merge_shards(given.out, path)
        console.note(f"written: {given.out}")
        if lost:
            raise IncompleteError(f"{lost}; run these shards again, and merge once more")
        return
    if (run is None) == (not given.get("graph")):
        raise UserError("give a LoRA run, or the --graph of the shards below --out")
    if run is not None:
        from graphwalker.runs import locked_file
        from training.models.lora import merge_adapter

        with locked_file(given.out):
            force = bool(given.values.get("policy.force_base"))
            console.echo(str(merge_adapter(run, given.out, force_base=force)))
        return
    workers, trust = int(given.get("workers") or 1), [given.get("trust")]
    card = _show("merge", partial(join, given.graph, given.out, path, workers, trust=trust))
    if shortage := describe_shortage(card):
        raise IncompleteError(shortage)


@verb(app, "graph", "out!")
def export(
    given: CommandOptions,
    file: Annotated[Path, Argument(help="Trajectories or questions (JSONL, .gz too).")],
    to: Annotated[str, Option(help="sharegpt (LLaMA-Factory), trl, verl or inspect.")],
) -> None:
    """Write data for LLaMA-Factory, TRL or verl, or a log for Inspect AI.

    Trajectories become rows to imitate. Questions become RL prompts with their answers: they need
    --graph, and settings such as environment.prompt=... choose the prompt.

    Example: graphwalker export runs/synth/graphsynth.jsonl --to sharegpt --out runs/sharegpt
    """
    from data_pipeline.export import export as write
    from graphwalker.agents.environment import Environment
    from graphwalker.demo.models import InEnvironment
    from graphwalker.graphs.open import open_graph

    config = given.settings(InEnvironment).environment
    environment = None
    if graph := given.get("graph"):
        environment = Environment(open_graph(graph, wikidata=config.layers.wikidata), config)
    done = write(file, to, given.out, environment)
    console.facts(
        "export", {"file": str(done.file), "rows": done.rows, "set aside": done.set_aside}
    )
    if done.wrong:
        console.note(
            f"{file}: {done.wrong:,} trajectories end with a wrong answer; a model that trains on "
            "these rows learns it, too"
        )


@verb(app, "graph!", "out!", "seed")
def tiny(
    given: CommandOptions,
    file: Annotated[Path, Argument(help="GraphSynth trajectories, whose words it learns.")],
) -> None:
    """Make a tiny model with random weights, to try SFT and GRPO on a laptop.

    Its shape is that of the demo's model, where no setting says otherwise. Its tokenizer learns
    the words of the trajectories and of the graph. It uses the chat format `inline`.

    Example: graphwalker tiny runs/synth/graphsynth.jsonl --graph runs/world/graph --out runs/tiny
    """
    from graphwalker.config import COMMAND_LINE, parse_config
    from graphwalker.demo.data import make_tiny_model
    from graphwalker.demo.demo import check_modules
    from graphwalker.graphs.browse import shown_relations
    from graphwalker.graphs.open import open_graph
    from training.tiny.config import TinyModelConfig, demo_model

    check_modules()
    graph, chosen = open_graph(given.graph), given.settings(TinyModelConfig)
    shape = demo_model(len(list(shown_relations(graph))), chosen.seed).model_dump()
    given_shape = {**shape, **chosen.model_dump(exclude_unset=True)}
    config = parse_config(TinyModelConfig, given_shape, COMMAND_LINE)
    made = make_tiny_model(config, file, graph, given.out)
    console.echo(f"{made}: a model with random weights; train it with model={made} format=inline")


@verb(app, "out!", settings=False)
def stats(
    given: CommandOptions,
    file: Annotated[Path, Argument(help="Questions or trajectories (JSONL).")],
    against: Annotated[Files, Option(help="Test questions to compare with; repeatable.")] = None,
    embedding: Annotated[
        str, Option(help="A sentence model. Default: BGE-M3 where it is, else none.")
    ] = "",
    tokenizer: Annotated[str, Option(help="Model folder: count its tokens by part.")] = "",
) -> None:
    """Describe a corpus: structures beside the paper's (Tables 6, 7), hops, turns, relations.

    Writes stats.json and stats.md; with --against also how similar test questions are (Table 5).

    Example: graphwalker stats runs/synth/graphsynth.jsonl --against WebQSP.test.json
    --out runs/stats
    """
    from data_pipeline.stats.report import report

    found = report(file, given.out, against or [], embedding)
    shown = {key: found[key] for key in ("count", "structures", "paper") if found[key]}
    console.facts("stats", shown)
    if tokenizer:
        from data_pipeline.stats.report import token_costs
        from graphwalker.files import read_records, write_json
        from graphwalker.trajectory import Trajectory

        costs = token_costs(read_records(file, Trajectory.from_json), tokenizer)
        write_json(given.out / "tokens.json", costs)
        console.facts(f"tokens of {tokenizer}", costs)
