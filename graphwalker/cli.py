"""The `graphwalker` command: the composition root, which names other packages only as strings."""

import logging
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from graphwalker.errors import GraphWalkerError, UserError

app = typer.Typer(
    help=(
        "Train and evaluate agents that answer questions by walking a knowledge graph.\n\n"
        "Start with `graphwalker demo`: the whole road on an embedded graph, on a laptop. Every "
        "command that makes files goes on where a killed one stopped: type it again."
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
graph_app = typer.Typer(help="Make, compile and describe graphs.", no_args_is_help=True)
app.add_typer(graph_app, name="graph")

GraphOption = Annotated[Path, typer.Option("--graph", help="A compiled graph (`graph build`).")]
OutOption = Annotated[Path, typer.Option("--out", help="Where the result goes.")]
SeedOption = Annotated[int, typer.Option("--seed", help="Same seed, same records.")]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes; any number makes the same files.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="YAML settings; `graphwalker config` lists them.")
]
Overrides = Annotated[
    list[str] | None, typer.Argument(help="Settings as a.b=c; they win over the config file.")
]

CONFIGS = {
    "environment": "graphwalker.agents.presets:EnvironmentConfig",
    "synth": "data_pipeline.config:SynthConfig",
    "experts": "data_pipeline.config:ExpertConfig",
    "model": "training.config:TinyModelConfig",
    "sft": "training.config:SftConfig",
    "grpo": "training.grpo_config:GrpoConfig",
    "eval": "eval.config:EvalConfig",
    "demo": "graphwalker.demo:DemoConfig",
}


def load(name: str) -> Any:
    """`package.module:attribute`, imported now and not before."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def settings(name: str, config: Path | None, overrides: list[str] | None, **options: Any) -> Any:
    """A config of `CONFIGS`; options given on the command line (not `None`) win over all."""
    given = [f"{key}={value}" for key, value in options.items() if value is not None]
    read = load("graphwalker.config:load_config")
    return read(load(CONFIGS[name]), config, [*(overrides or []), *given])


# --- graph


@graph_app.command("make")
def graph_make(
    entities: Annotated[int, typer.Option("--entities", min=1, help="Named entities.")],
    out: OutOption,
    seed: SeedOption = 0,
) -> None:
    """Generate a fictional, Freebase-shaped world (TSV, N-Triples and compiled).

    Example: graphwalker graph make --entities 3000 --out runs/world
    """
    note = load("graphwalker.console:note")
    info = load("graphwalker.graphs.synthetic:make_world")(entities, seed, out, progress=note)
    load("graphwalker.console:facts")(str(out), info)


@graph_app.command("build")
def graph_build(
    triples: Annotated[
        list[Path], typer.Option("--triples", help="TSV or N-Triples, plain or .gz; repeatable.")
    ],
    out: OutOption,
    names: Annotated[Path | None, typer.Option("--names", help="TSV: id, name.")] = None,
    types: Annotated[Path | None, typer.Option("--types", help="TSV: id, type.")] = None,
    memory_limit: Annotated[str, typer.Option(help="Memory for sorting.")] = "2GB",
) -> None:
    """Compile triples into a memory-mapped graph that opens in milliseconds.

    Example: graphwalker graph build --triples kb.tsv.gz --names names.tsv --out runs/graph
    """
    note = load("graphwalker.console:note")
    build = load("graphwalker.graphs.build:build_graph")
    info = build(triples, out, names=names, types=types, memory_limit=memory_limit, progress=note)
    load("graphwalker.console:facts")(str(out), info)


@graph_app.command("info")
def graph_info(
    graph: Annotated[Path, typer.Argument(help="A compiled graph.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Describe a compiled graph: counts, checksum, size."""
    info = load("graphwalker.graphs.compiled:open_graph")(graph).info()
    if as_json:
        typer.echo(load("graphwalker.jsonl:dumps")(info))
    else:
        load("graphwalker.console:facts")(str(graph), info)


# --- data pipeline


CARD = ("stage", "count", "attempts", "yield", "structures", "splits", "dropped")
"""What the terminal shows of a data card; the card itself lies in the folder."""


def _stage(title: str, run: Callable[[Any], dict[str, Any]]) -> None:
    with load("graphwalker.console:progress")(title) as tick:
        card = run(tick)
    load("graphwalker.console:facts")(title, {key: card[key] for key in CARD if key in card})


@app.command()
def synth(
    graph: GraphOption,
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Trajectories.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """GraphSynth in one go: walks, questions, filter, certificates, oracle trajectories.

    Example: graphwalker synth --graph runs/graph --count 5000 --seed 0 --out runs/synth
    """
    chosen = settings("synth", config, overrides, count=count, seed=seed, workers=workers)
    make = load("data_pipeline.synthesize:synthesize")
    _stage("synth", lambda tick: make(graph, chosen, out, tick))


@app.command()
def walk(
    graph: GraphOption,
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Walks.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """Step 1 of `synth`: constrained random walks with their executed answer sets.

    Example: graphwalker walk --graph runs/graph --count 1000 --out runs/walks
    """
    chosen = settings("synth", config, overrides, count=count, seed=seed, workers=workers)
    make = load("data_pipeline.synthesize:make_walks")
    _stage("walk", lambda tick: make(graph, chosen, out, tick))


@app.command()
def questions(
    graph: GraphOption,
    out: OutOption,
    walks: Annotated[
        Path | None, typer.Option("--walks", help="walks.jsonl of `graphwalker walk`.")
    ] = None,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="Certified questions, without --walks.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """Step 2 of `synth`: walks become questions. Without --walks: a whole certified question set.

    A question set is for evaluation or RL; `split=test-entity` and `split=test-path` hold out.

    Example: graphwalker questions --graph runs/graph --walks runs/walks/walks.jsonl --out runs/q
    """
    chosen = settings("synth", config, overrides, count=count, seed=seed, workers=workers)
    if walks is None:
        make = load("data_pipeline.synthesize:make_questions")
        _stage("questions", lambda tick: make(graph, chosen, out, tick))
    else:
        word = load("data_pipeline.stages:word_questions")
        _stage("questions", lambda tick: word(graph, chosen, walks, out, tick))


@app.command("filter")
def filter_questions(
    graph: GraphOption,
    questions: Annotated[Path, typer.Option("--questions", help="questions.jsonl of step 2.")],
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    workers: WorkersOption = None,
) -> None:
    """Step 3 of `synth`: keep what passes the quality filter and every certificate.

    Example: graphwalker filter --graph runs/graph --questions runs/q/questions.jsonl --out runs/f
    """
    chosen = settings("synth", config, overrides, workers=workers)
    keep = load("data_pipeline.stages:filter_questions")
    _stage("filter", lambda tick: keep(graph, chosen, questions, out, tick))


@app.command()
def experts(
    graph: GraphOption,
    questions: Annotated[Path, typer.Option("--questions", help="Certified questions (JSONL).")],
    out: OutOption,
    config: ConfigOption = None,
    overrides: Overrides = None,
    count: Annotated[int | None, typer.Option("--count", min=1, help="Trajectories.")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Same seed, same records.")] = None,
    workers: WorkersOption = None,
) -> None:
    """GraphRoll: an expert that errs and recovers, kept where it ends right and grounded.

    Example: graphwalker experts --graph runs/graph --questions runs/rl/questions.jsonl
    --out runs/roll
    """
    chosen = settings("experts", config, overrides, count=count, seed=seed, workers=workers)
    collect = load("data_pipeline.collect:collect_experts")
    _stage("experts", lambda tick: collect(graph, chosen, questions, out, tick))


# --- agents


@app.command("eval")
def evaluate(config: ConfigOption = None, overrides: Overrides = None) -> None:
    """Run an agent on questions and score it.

    Example: graphwalker eval graph=runs/graph questions=q.jsonl policy.model=runs/sft/final
    policy.format=inline output_dir=runs/eval samples=8
    """
    chosen = settings("eval", config, overrides)
    with load("graphwalker.console:progress")("evaluate") as tick:
        folder = load("eval.config:run_eval")(chosen, tick)
    report([folder], folder, seed=chosen.seed)


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of evaluation runs, first to last.")],
    out: OutOption,
    title: Annotated[
        str, typer.Option("--title", help="Heading of the page.")
    ] = "GraphWalker report",
    seed: SeedOption = 0,
) -> None:
    """Tables and one self-contained HTML page from evaluation runs."""
    stage = load("eval.report:StageResult")
    made = load("eval.report:write_report")(
        out, [stage(r.name, r) for r in runs], None, seed, title
    )
    console = load("graphwalker.console:out")
    console.print(load("eval.report:console_table")(made))
    console.print(f"Report: {(out / 'report.html').resolve()}", soft_wrap=True)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(help="An evaluation run.")],
    b: Annotated[Path, typer.Argument(help="Another one, on the same questions.")],
) -> None:
    """The paired difference of two runs: bootstrap interval and McNemar's test."""
    result = load("eval.compare:compare")(a, b)
    load("graphwalker.console:out").print(load("eval.compare:comparison_table")(result))


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question, in quotes.")],
    topic: Annotated[
        list[str], typer.Option("--topic", help="Topic entity (name or id); repeatable.")
    ],
    graph: GraphOption,
    model: Annotated[Path, typer.Option("--model", help="A model folder, as training leaves it.")],
    config: ConfigOption = None,
    overrides: Overrides = None,
    layout: Annotated[str, typer.Option("--format", help="chatml, llama3 or inline.")] = "inline",
    max_tokens: Annotated[int, typer.Option(help="Completion tokens per turn.")] = 512,
) -> None:
    """Ask one question and watch the agent walk. --config and a.b=c set the environment.

    Example: graphwalker ask "Who directed Anna Brek?" --topic "Anna Brek"
    --graph runs/demo/world/graph --model runs/demo/grpo/final prompt=compact
    """
    environment = settings("environment", config, overrides)
    policy_config = load("graphwalker.config:parse_config")(
        load("graphwalker.policies.load:PolicyConfig"),
        {"model": str(model), "format": layout},
        "--model, --format",
    )
    opened = load("graphwalker.graphs.compiled:open_graph")(graph)
    trajectory = load("graphwalker.ask:ask")(
        question,
        topic,
        load("graphwalker.agents.presets:Environment")(opened, environment),
        load("graphwalker.policies.load:load_policy")(policy_config),
        max_tokens=max_tokens,
        show=load("graphwalker.console:show_turn"),
    )
    load("graphwalker.console:show_answer")(trajectory)
    if trajectory.stop.ours:
        raise GraphWalkerError(trajectory.provenance.get("error", trajectory.stop.value))


@app.command()
def demo(
    out: OutOption = Path("runs/demo"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Lower figures in under 4 minutes.")
    ] = False,
    config: ConfigOption = None,
    overrides: Overrides = None,
) -> None:
    """The whole road on a laptop: a world, its data, three training stages, a report."""
    path = config or load("graphwalker.demo:shipped_config")(quick)
    load("graphwalker.demo:run_demo")(out, path, overrides or [])


@app.command("config")
def show_config(
    name: Annotated[str, typer.Argument(help=f"One of: {', '.join(CONFIGS)}.")],
) -> None:
    """Every setting of a config: its type, default and meaning."""
    if name not in CONFIGS:
        raise UserError(f"no config is named {name!r}; known: {', '.join(CONFIGS)}")
    rows = load("graphwalker.config:describe")(load(CONFIGS[name]))
    load("graphwalker.console:settings_table")(name, rows)


# --- the process


def run(command: Callable[[], Any]) -> int:
    """Exit codes: 0 done, 1 a failure of ours or of a service, 2 bad input, 130 interrupted."""
    try:
        command()
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        return 2
    except GraphWalkerError as error:
        typer.echo(f"error: {error}", err=True)
        return 1
    except KeyboardInterrupt:
        typer.echo("interrupted: the same command again goes on", err=True)
        return 130
    return 0


def main() -> None:
    """The console script."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    sys.exit(run(app))


if __name__ == "__main__":
    main()
