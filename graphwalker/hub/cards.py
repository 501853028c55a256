"""Cards: the README.md of a model, of data or of a graph, with the front matter of the Hub."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypeGuard, cast

from graphwalker import __version__
from graphwalker.agents.model_environment import ModelEnvironment, read_environment
from graphwalker.errors import UserError
from graphwalker.files import read_json, read_jsonl, write_text

CARD = "README.md"
TAGS = ("graphwalker", "kgqa", "knowledge-graph")
FIGURES = {
    "em": "exact match", "f1": "F1", "sampled_em": "exact match, sampled",
    "answered": "answered", "valid_actions": "valid actions",
}  # fmt: skip
SETTINGS = (
    "epochs", "max_steps", "steps", "lr", "schedule", "batch_size", "tokens_per_step", "max_length",
    "prompts_per_step", "samples", "rewards", "beta", "loss_type", "lora", "dtype", "seed",
)  # fmt: skip
"""What a card says of a training run; `config.yaml` of the run has the rest."""
PACKAGES = ("torch", "transformers", "trl", "peft")


def with_front_matter(facts: Mapping[str, Any], body: str) -> str:
    """Return the text of a card; facts without a value are left out."""
    import yaml

    known = {key: value for key, value in facts.items() if value not in (None, "", [], {})}
    return f"---\n{yaml.safe_dump(known, sort_keys=False, allow_unicode=True)}---\n\n{body}"


def front_matter(text: str, where: Path | str = CARD) -> dict[str, Any]:
    """Return the facts of a card, none where it has no front matter. Raises `UserError` for what is
    no YAML mapping."""
    import yaml

    if not text.startswith("---\n"):
        return {}
    try:
        facts = yaml.safe_load(text[4:].partition("\n---")[0])
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise UserError(f"{where}: the front matter is no YAML: {problem}; mend it") from None
    if not isinstance(facts, dict):
        raise UserError(f"{where}: the front matter is no mapping of names to values; mend it")
    return cast(dict[str, Any], facts)


def write_model_card(model: Path, run: Path, step: int = 0) -> None:
    """Write the card of a model that `run` has trained; `step` is the evaluation that chose it."""
    write_text(model / CARD, model_card(model, run, step))


def model_card(model: Path, run: Path, step: int = 0) -> str:
    """Return the card of a folder's model: its environment, and of `run` its training and figures.

    It says nothing of clocks and machines, so equal runs have equal cards. What a folder does not
    know is left out.
    """
    config = _yaml(run / "config.yaml")
    environment = read_environment(model)
    adapter = (model / "adapter_config.json").is_file()
    stage = "" if not config else "GRPO" if "prompts_per_step" in config else "SFT"
    found = _evaluation(run, step)
    base, origin = _origin(str(config.get("model") or ""))
    tags = (*TAGS, stage.lower(), environment.preset if environment else "")
    facts = {
        "library_name": "peft" if adapter else "transformers",
        "pipeline_tag": "text-generation",
        "base_model": base,
        "license": origin.get("license"),
        "tags": list(dict.fromkeys(filter(None, tags))),
        "model-index": _model_index(run, found),
    }
    title = environment.preset if environment else "model"
    parts = [f"# A {title} agent for questions over knowledge graphs", _use(adapter)]
    parts += _evaluation_part(found) + _environment_part(environment)
    parts += _training_part(run, config, stage) if config else []
    return with_front_matter(facts, "\n\n".join(parts) + "\n")


def data_facts(files: Sequence[str], count: int = 0, licence: str = "other") -> dict[str, Any]:
    """Return the front matter of data: `datasets.load_dataset` reads the first file by default."""
    configs = [
        {"config_name": "default" if place == 0 else Path(name).stem, "data_files": name}
        for place, name in enumerate(files)
    ]
    sizes = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
    size = next((name for most, name in sizes if count < most), "1M<n<10M")
    return {
        "license": licence,
        "task_categories": ["question-answering"],
        "size_categories": [size] if count else [],
        "tags": list(TAGS),
        "configs": configs,
    }


def graph_card(graph: Any, name: str) -> str:
    """Return the card of a compiled graph."""
    body = (
        f"# A knowledge graph, compiled by GraphWalker {__version__}\n\n"
        f"{table(('fact', 'value'), graph.info().items())}\n\n"
        f"```bash\nhf download --repo-type dataset {name}\n"
        f"graphwalker graph info {name}\n```\n\n"
        "The facts and names are those of the graph's source, whose licence holds.\n"
    )
    return with_front_matter({"license": "other", "tags": [*TAGS, "graph"]}, body)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; no value breaks out of its cell."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([" ".join(str(cell).replace("|", "\\|").split()) for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _yaml(path: Path) -> dict[str, Any]:
    import yaml

    return yaml.safe_load(path.read_text(encoding="utf-8")) or {} if path.is_file() else {}


def _origin(model: str) -> tuple[str, Mapping[str, Any]]:
    """Return the Hub model that this one goes back to, and what its card says: a local folder's own
    card names it."""
    card = Path(model) / CARD
    if not Path(model).is_dir():
        return (model if model.count("/") == 1 and model[0] not in "./~" else ""), {}
    facts = front_matter(card.read_text(encoding="utf-8"), card) if card.is_file() else {}
    base = facts.get("base_model")
    return (base if isinstance(base, str) else ""), facts


def _use(adapter: bool) -> str:
    merge = "graphwalker merge FOLDER --out MODEL   # this is an adapter: merge it first\n"
    return (
        "GraphWalker evaluates it in the environment of its training, which `graphwalker.json` "
        f"holds:\n\n```bash\n{merge if adapter else ''}"
        "graphwalker eval --model MODEL --graph GRAPH --questions QUESTIONS --out runs/eval\n```"
    )


def _evaluation(run: Path, step: int) -> dict[str, Any]:
    """Return the line of that step, else the last one."""
    path = run / "evaluations.jsonl"
    lines = list(read_jsonl(path, nan=True)) if path.is_file() else []
    return next((line for line in lines if step and line.get("step") == step), (lines or [{}])[-1])


def _model_index(run: Path, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    metrics = [
        {"type": kind, "name": FIGURES[name], "value": round(found[name], 4)}
        for name, kind in (("em", "exact_match"), ("f1", "f1"))
        if name in found
    ]
    if not metrics:
        return []
    data = {"type": "graphwalker-dev", "name": "dev questions of the run"}
    result = {"task": {"type": "question-answering"}, "dataset": data, "metrics": metrics}
    return [{"name": f"graphwalker-{run.resolve().name}", "results": [result]}]


def _evaluation_part(found: Mapping[str, Any]) -> list[str]:
    rows: list[tuple[str, str]] = []
    for name, title in FIGURES.items():
        if isinstance(found.get(name), float | int):
            ends = [found.get(f"{name}_{side}") for side in ("low", "high")]
            both = f" [{ends[0]:.3f}, {ends[1]:.3f}]" if None not in ends else ""
            rows.append((title, f"{found[name]:.3f}{both}"))
    if not rows:
        return ["## Evaluation\n\nNot evaluated while it was trained."]
    count = len(found.get("em_by_question") or ())
    text = f"Step {found['step']}, greedy, on {count} dev questions; in brackets the 95 % interval."
    return [f"## Evaluation\n\n{text}", table(("figure", "value"), rows)]


def _environment_part(own: ModelEnvironment | None) -> list[str]:
    if own is None:
        return []
    rows = [
        ("preset", f"{own.preset}, version {own.preset_version}"),
        ("turns", own.limits.max_turns),
        ("completion tokens a turn", own.limits.max_tokens or "not limited"),
        ("ranker", Path(own.ranker.name).name),
        ("prompt", f"{Path(own.prompt.name).name} ({own.prompt.digest})"),
        ("chat format", own.format if isinstance(own.format, str) else "its own"),
    ]
    return ["## Environment", table(("setting", "value"), rows)]


def _training_part(run: Path, config: Mapping[str, Any], stage: str) -> list[str]:
    rows = [("stage", stage), ("started from", _short(str(config["model"])))]
    inputs = read_json(run / "inputs.json") if (run / "inputs.json").is_file() else {}
    for key in ("data", "questions", "graph"):
        value: Any = config.get(key) or []
        names = [f"{key}[{place}]" for place in range(len(value))] if _is_list(value) else [key]
        for name, one in zip(names, value if _is_list(value) else [value], strict=False):
            rows += (
                [(name, f"{_short(str(one))} ({str(inputs.get(name, ''))[:16]})")] if one else []
            )
    seen = read_json(run / "data.json") if (run / "data.json").is_file() else {}
    rows += [(name, f"{value:,}") for name, value in seen.items() if isinstance(value, int)]
    rows += [(name, config[name]) for name in SETTINGS if config.get(name) not in (None, 0, "", {})]
    rows += [("software", ", ".join([f"GraphWalker {__version__}", *_versions()]))]
    return ["## Training", table(("setting", "value"), rows)]


def _is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _short(path: str) -> str:
    """Return the end of a path; where a run lay on somebody's machine concerns nobody."""
    return "/".join(Path(path).parts[-2:]) if "://" not in path else path


def _versions() -> Iterable[str]:
    for name in PACKAGES:
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
