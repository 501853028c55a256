"""The architecture, read from the code: who imports whom, what stays light and small."""

import ast
import importlib.metadata
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from graphwalker.config import load_config, read_settings
from graphwalker.demo import Demo, DemoConfig
from support.code import PACKAGES, label, nodes_of, parsed, sources
from support.paths import ROOT
from training.config import SftConfig
from training.grpo_config import GrpoConfig

MAY_IMPORT = {
    "graphwalker": {"graphwalker"},
    "data_pipeline": {"graphwalker", "data_pipeline"},
    "training": {"graphwalker", "training"},
    "eval": {"graphwalker", "eval", "data_pipeline"},
}
"""The oracle of an evaluation speaks in the words of the pipeline's phrase bank."""
LAYERS = """
counts errors intervals < files settings workers < config < console http trust < pretrained < runs
< graphs < answers query world < question < synthetic trajectory < scoring tokens viewer < datasets
< doctor < policies < ranking < tools < protocols < oracle < agents < ceilings hub serve
< audit sparql_server < DATA_PIPELINE TRAINING < EVAL < api < integrations jobs < demo < cli
< __main__
"""
"""Files and folders of graphwalker/, and the other packages (large letters), from below. Each may
import what stands before it here, and nothing beside it."""
EXCEPTIONS = {
    "graphwalker.graphs.open": "datasets: `open_graph` opens the graphs that questions bring, too"
}
"""Modules that import from a layer above their own: which, and why."""
HEAVY = {"torch", "transformers", "trl", "datasets", "accelerate", "vllm", "duckdb", "matplotlib"}
ENGINES = {
    "graphwalker.policies.local.decoding",
    "graphwalker.policies.local.kv_cache",
    "graphwalker.policies.local.sampling",
    "graphwalker.policies.local.policy",
    "graphwalker.policies.vllm.engine",
}
"""Modules that may import torch as they load; all of `training/` may, too. No light module may
import one of these as it loads."""
MAX_LINES = 400
MAX_MODULES = 12
COMPOSITION = ("graphwalker/cli/", "graphwalker/demo/", "graphwalker/api/")
"""The composition root: it imports all four packages, inside functions."""


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Dotted names that the nodes import; `from a import b` gives `a.b`: b may be a module."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module_level(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs when the module is imported, but not `if TYPE_CHECKING:` blocks."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from module_level(child)


def loaded_by(statement: str) -> set[str]:
    code = f"import json, sys; {statement}; print(json.dumps(sorted(sys.modules)))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(result.stdout)}


def test_packages_meet_only_in_graphwalker() -> None:
    """The commands and the pipeline put all four together, inside functions."""
    for path in sources():
        composes = label(path).startswith(COMPOSITION)
        names = imported(module_level(parsed(path)) if composes else nodes_of(path))
        ours = {name.partition(".")[0] for name in names} & set(PACKAGES)
        assert ours <= MAY_IMPORT[path.relative_to(ROOT).parts[0]], label(path)


def test_heavy_libraries_are_imported_where_they_are_used() -> None:
    for path in sources():
        module = label(path).removesuffix(".py").replace("/", ".")
        if path.is_relative_to(ROOT / "training") or module in ENGINES:
            continue
        names = set(imported(module_level(parsed(path))))
        assert not {name.partition(".")[0] for name in names} & HEAVY, label(path)
        engines = {engine for engine in ENGINES for name in names if name.startswith(engine)}
        assert not engines, label(path)


def test_no_folder_holds_more_than_twelve_modules() -> None:
    modules = Counter(label(path.parent) for path in sources() if path.name != "__init__.py")
    assert {folder: n for folder, n in modules.items() if n > MAX_MODULES} == {}


def modules() -> dict[str, Path]:
    names = {label(path).removesuffix(".py").replace("/", "."): path for path in sources()}
    return {name.removesuffix(".__init__"): path for name, path in names.items()}


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Every node of the tree but `if TYPE_CHECKING:` blocks."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")):
            yield child
            yield from running(child)


@cache
def uses() -> dict[str, set[str]]:
    """The modules that each module imports; inside functions count, for types alone does not.
    `graphwalker` itself loads its public names when they are used: who imports it takes the
    version."""
    known, found = modules(), dict[str, set[str]]()
    for name, path in known.items():
        targets = imported(running(parsed(path)))
        own = {name, "graphwalker"}
        found[name] = {t if t in known else t.rpartition(".")[0] for t in targets} & set(known)
        found[name] -= own
    return found


def test_files_form_a_dag() -> None:
    tuple(TopologicalSorter(uses()).static_order())  # raises CycleError, which names the circle


def test_files_and_folders_beside_each_other_form_a_dag() -> None:
    below: dict[str, set[str]] = {}
    for name, targets in uses().items():
        for target in targets:
            ours, theirs = name.split("."), target.split(".")
            pairs = zip(ours, theirs, strict=False)
            depth = next((k for k, pair in enumerate(pairs) if len(set(pair)) > 1), 0)
            if depth and name not in EXCEPTIONS:
                here, there = ".".join(ours[: depth + 1]), ".".join(theirs[: depth + 1])
                below.setdefault(here, set()).add(there)
    tuple(TopologicalSorter(below).static_order())


def unit_of(module: str) -> str:
    """A file or folder of graphwalker/, or another package in large letters."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "graphwalker" else package.upper()


def test_each_layer_imports_only_layers_below_it() -> None:
    height = {unit: k for k, layer in enumerate(LAYERS.split("<")) for unit in layer.split()}
    assert {unit_of(name) for name in uses() if name != "graphwalker"} <= set(height)
    for name, targets in uses().items():
        here = unit_of(name) or "__main__"  # `graphwalker` loads its public names when asked
        excused = EXCEPTIONS.get(name, "").partition(":")[0]
        for there in {unit_of(target) for target in targets} - {here, excused}:
            assert height[there] < height[here], f"{name} imports {there}"


def test_nothing_of_ours_is_imported_by_string() -> None:
    named = re.compile(rf"((?:{'|'.join(PACKAGES)})(?:\.\w+)+):\w+")
    known = modules()
    for name, path in known.items():
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = named.fullmatch(node.value)
                assert not (found and found[1] in known), f"{label(path)}: {node.value}"
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                given = ast.unparse(node.args[0])
                own = name == "graphwalker.settings.named"
                assert own or not given.strip("'").startswith(PACKAGES), label(path)


def test_abilities_are_stated_and_only_graphs_are_checked_by_their_methods() -> None:
    checked = {label(p) for p in sources() if "runtime_checkable" in p.read_text(encoding="utf-8")}
    assert {path for path in checked if not path.startswith("graphwalker/graphs/")} == set()


def test_importing_graphwalker_loads_no_third_party_library() -> None:
    installed = set(importlib.metadata.packages_distributions())
    before, after = loaded_by("pass"), loaded_by("import graphwalker")
    assert (after - before) & installed <= {"graphwalker"}


def test_the_command_line_starts_without_heavy_libraries() -> None:
    assert not loaded_by("import graphwalker.cli.app") & (HEAVY | {"numpy"})


def test_no_script_is_named_after_a_dependency() -> None:
    # Under `accelerate launch` the script's folder comes first on the path: datasets.py would
    # replace the library.
    libraries = set(importlib.metadata.packages_distributions()) | set(sys.stdlib_module_names)
    scripts = [*(ROOT / "training").glob("*.py"), *(ROOT / "eval").glob("*.py")]
    assert not {path.stem for path in scripts} & (libraries - {*PACKAGES, "__init__"})


def test_every_file_says_what_it_is_and_stays_small() -> None:
    for path in sources():
        text = path.read_text(encoding="utf-8")
        empty = path.name == "__init__.py" and not text.strip()
        assert empty or ast.get_docstring(parsed(path)), f"{label(path)}: which noun is it?"
        assert text.count("\n") <= MAX_LINES, label(path)


def test_every_extra_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["train"], *extras["report"], *extras["dev"]]
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8").lower().replace("_", "-")
    locked = set(re.findall(r"^([a-z0-9.-]+)==", lock, flags=re.MULTILINE))
    assert {re.split(r"[\[<>=~!;]", name)[0].lower() for name in wanted} <= locked


@pytest.mark.parametrize("name", ["constraints.txt", "constraints-cluster.txt"])
def test_the_lock_names_no_build_and_no_local_path(name: str) -> None:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line) for line in packages)


def test_pre_commit_and_the_lock_agree_on_ruff() -> None:
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    pinned = re.search(r"ruff-pre-commit\s+rev: v(\S+)", hooks)
    assert pinned and f"\nruff=={pinned[1]}\n" in lock


PATHS = {"model": "m", "data": ["d"], "questions": "q", "graph": "g", "output_dir": "o"}
"""What a run fills in by itself."""


@pytest.mark.parametrize("name", ["sft", "sft-stage2", "grpo"])
def test_the_papers_values_are_written_out_and_are_the_defaults(name: str) -> None:
    kind = GrpoConfig if name == "grpo" else SftConfig
    config = load_config(kind, ROOT / f"configs/{name}.yaml")
    own = {*PATHS, "gradient_accumulation", "gradient_checkpointing", "micro_batch"}
    for key, field in kind.model_fields.items():
        assert key in own or getattr(config, key) == field.get_default(call_default_factory=True)


NAMES = ("cluster", "demo", "demo-fb15k", "demo-full", "smollm2")
ROADS = [ROOT / "configs" / f"{name}.yaml" for name in NAMES]
"""Configs of the whole road."""


def test_no_config_is_left_unread() -> None:
    names = {path.name for path in (ROOT / "configs").glob("*.yaml")}
    stages = {"sft.yaml", "sft-stage2.yaml", "grpo.yaml"}
    assert names - {path.name for path in ROADS} == stages


def test_all_roads_have_the_same_sections_and_keys() -> None:
    free = {"jobs", "mix", "splits", "policy", "teacher", "environment", "vllm"}
    found = {}
    for path in ROADS:
        sections = read_settings(path)
        found[path.name] = {
            key: sorted(value) if isinstance(value, dict) and key not in free else ""
            for key, value in sections.items()
        }
    assert all(keys == found["demo.yaml"] for keys in found.values())


MAY_DIFFER = re.compile(
    r".*(model|prompt|top_relations|count|mix\..*|max_\w+|lr|steps|tokens_per_step|workers|shards"
    r"|prompts_per_step|micro_batch|gradient_checkpointing|eval\.samples|sampled_questions|policy|data|engine"
    r"|plain_thoughts"  # one wording a thought: for a model from random weights alone
    r"|base_url|questions|output_dir|graph|run|gpu_memory|sleep|serves|options|sbatch)"
)
"""Settings in which roads differ: model, sizes, counts, lengths, rates, steps, engine, places."""


def _leaves(settings: dict, prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def test_roads_differ_in_model_sizes_lengths_rates_and_engine_alone() -> None:
    demo, *others = (
        dict(_leaves(read_settings(ROOT / f"configs/{name}.yaml")))
        for name in ("demo", "smollm2", "cluster")
    )
    for other in others:
        differing = {key for key in demo.keys() | other if demo.get(key) != other.get(key)}
        assert not {key for key in differing if not MAY_DIFFER.fullmatch(key)}


def test_roads_train_with_one_objective() -> None:
    objective = ("beta", "loss_type", "scale_rewards", "clip_low", "clip_high", "replay", "rewards")
    for path in ROADS:
        grpo = read_settings(path)["grpo"]
        assert not grpo.keys() & {*objective, "iterations", "temperature", "zero_variance"}


@pytest.mark.parametrize("path", [path for path in ROADS if path.stem != "cluster"], ids=label)
def test_every_section_of_a_road_is_read_by_its_stage(path: Path) -> None:
    Demo(load_config(DemoConfig, path, ["run=runs/none"])).check_settings()


@pytest.mark.parametrize("path", sorted((ROOT / "configs/accelerate").glob("*.yaml")), ids=label)
def test_every_accelerate_config_loads(path: Path) -> None:
    from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file

    assert isinstance(load_config_from_file(str(path)), ClusterConfig)


def test_every_job_script_is_valid_bash() -> None:
    for path in (ROOT / "slurm").iterdir():
        subprocess.run(["bash", "-n", path], check=True)
