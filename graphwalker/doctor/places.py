"""What a run reads and writes: its graph, its model, its servers, its folder and the disk."""

import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from graphwalker.counts import number_of
from graphwalker.doctor.diagnosis import Diagnosis, looked_at, note, ok, wrong
from graphwalker.errors import UserError, install_extra
from graphwalker.graphs.open import is_endpoint, open_endpoint, open_graph
from graphwalker.http import get
from graphwalker.settings.named import QUESTION_FILES, local_path

GIB = 2**30
LEAST_GIB = 10
"""Free space below which a run with checkpoints of a small model may not fit."""


def look_at_graph(spec: str) -> Iterator[Diagnosis]:
    """Check that the graph opens, or answers, and holds something."""
    if is_endpoint(spec):
        advice = "start it, or give its address; `graphwalker virtuoso up --help`"
        yield from looked_at("graph", advice, lambda: _endpoint(spec))
    else:
        advice = "graphwalker graph build --help (Freebase: docs/freebase.md)"
        yield from looked_at("graph", advice, lambda: _open(spec))


def _endpoint(spec: str) -> str:
    graph = open_endpoint(spec, attempts=1)
    if not graph.client.rows("SELECT ?s WHERE { ?s ?p ?o } LIMIT 1"):
        raise UserError(f"{spec}: it answers, but holds no triple (is the named graph right?)")
    return f"{spec} answers and is not empty"


def _open(spec: str) -> str:
    graph = open_graph(spec)
    size = getattr(graph, "size", None)
    if size == 0 or not graph.relation_ids():
        raise UserError(f"{spec}: it opens, but holds no triple")
    return f"{spec}: {number_of(size, 'entity', 'entities')}" if size is not None else spec


def look_at_model(model: str) -> Iterator[Diagnosis]:
    """Look at a local folder: weights, tokenizer, and the environment of the training."""
    from graphwalker.pretrained.shipped import NAMES

    folder = Path(model)
    if model in NAMES and not folder.exists():
        yield ok("model", f"{model}: {NAMES[model]}; made on first use")
        return
    if not folder.is_dir():
        if model.count("/") == 1:
            advice = "give a folder, or fill the cache: compute nodes often have no network"
            found = f"{model}: no such folder; it will be looked for on the Hub"
            yield note("model", found, advice)
        else:
            advice = _chain_of(model) or "train it first, or mend the path"
            yield wrong("model", f"{model}: no such folder", advice)
        return
    lacks = [name for name in ("config.json", "tokenizer.json") if not (folder / name).is_file()]
    lacks += [] if any(folder.glob("*.safetensors")) else ["*.safetensors"]
    if lacks:
        advice = "give the folder that holds the model (of a run: its final/)"
        yield wrong("model", f"{model} lacks {', '.join(lacks)}", advice)
        return
    about = "with" if (folder / "graphwalker.json").is_file() else "without"
    yield ok("model", f"{model}, {about} graphwalker.json")


def look_at_files(setting: str, paths: Sequence[str]) -> Iterator[Diagnosis]:
    """Check that the files that a setting names are there, and hold something."""
    paths = [str(local_path(path, QUESTION_FILES)) for path in paths]
    missing = [path for path in paths if not Path(path).exists()]
    empty = [path for path in paths if Path(path).is_file() and not Path(path).stat().st_size]
    if missing or empty:
        faults = [f"{path}: no such file" for path in missing] + [f"{p}: empty" for p in empty]
        advice = dict.fromkeys(map(_how_to_get, [*missing, *empty]))
        yield wrong(setting, ", ".join(faults), "; ".join(advice))
    else:
        yield ok(setting, ", ".join(paths))


MADE_BY = {
    "GWBench.json": "bench",
    "graphsynth.jsonl": "synth",
    "graphroll.jsonl": "experts",
    "questions.jsonl": "questions",
}
"""Files of ours by the commands that make them."""


def _how_to_get(path: str) -> str:
    """Return the next move for a missing file: the command that makes it, or where it is."""
    from graphwalker.datasets.catalogue import CATALOGUE

    if chain := _chain_of(path):
        return chain
    if verb := MADE_BY.get(Path(path).name):
        return f"graphwalker {verb} makes it"
    *folders, name = ("".join(filter(str.isalnum, part.lower())) for part in Path(path).parts)
    for one in CATALOGUE:
        known = one.name in name or one.title.split()[0].lower() in name or one.name in folders
        if one.url and known:
            return f"download {one.title}: {one.url} (docs/datasets.md)"
    return "make it first, download it (docs/datasets.md), or mend the path"


def _chain_of(path: str) -> str:
    """Return the next move for what a paper's chain makes, `""` for anything else."""
    found = re.search(r"(?:^|/)runs/paper/([\w-]+)/", path)
    return f"graphwalker reproduce {found[1]} makes it" if found else ""


def look_at_server(what: str, url: str, key_variable: str = "") -> Iterator[Diagnosis]:
    """Check that an HTTP server answers, and that its key, which is never shown, is set."""
    if key_variable:
        if os.environ.get(key_variable, "").strip():
            yield ok(f"{what}'s key", f"{key_variable} is set")
        else:
            yield wrong(f"{what}'s key", f"{key_variable} is not set", f"export {key_variable}=...")
    advice = "start the server, or mend its address"
    yield from looked_at(what, advice, lambda: _answers(url))


def _answers(url: str) -> str:
    get(f"{url.rstrip('/')}/models", 5.0)  # what it refuses is asked with a key, later
    return f"{url} answers"


def look_at_disk(folder: Path, needed: float = 0.0) -> Iterator[Diagnosis]:
    """Check that the run's folder is writable and has room; `needed` GiB, 0 where not known."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        advice = "give another folder, or its rights"
        yield wrong("disk", f"{folder}: {there} cannot be written ({error.strerror})", advice)
        return
    free = shutil.disk_usage(there).free / GIB
    found = f"{folder}: {free:,.0f} GiB free"
    advice = "a checkpoint of a model with N parameters takes 12 N bytes, and 2 are kept"
    if needed:
        found += f", {needed:,.0f} GiB needed for checkpoints and models"
    if needed > free:
        yield wrong("disk", found, "a folder on a larger disk, or keep_checkpoints=1")
    elif free < 1:
        yield wrong("disk", f"{folder}: {free:.2f} GiB free", "make room")
    elif free < LEAST_GIB and not needed:
        yield note("disk", found, advice)
    else:
        yield ok("disk", found)


def look_at_memory(gpu: float, host: float, gpus: int) -> Diagnosis:
    """Return what training takes of a GPU and of the node, in GiB, beside what this node has."""
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB
    found = f"peak {gpu:.1f} GiB a GPU, host memory {host:.1f} GiB; this node has {here:.0f}"
    if host <= here:
        return ok("memory", found)
    if not gpus:
        return note("memory", found, "on a node without GPUs all of it would be the host's")
    return wrong("memory", found, "a node with more memory, fewer GPUs a node, or layout zero3")


def promised_gpus(environment: Mapping[str, str]) -> str:
    """Return the variable and its value, or the layout that promises a GPU; else `""`."""
    on_node = environment.get("SLURM_GPUS_ON_NODE", "")
    if any(int(number) for number in re.findall(r"\d+", on_node)[-1:]):
        return f"SLURM_GPUS_ON_NODE={on_node}"
    visible = environment.get("CUDA_VISIBLE_DEVICES", "").strip()
    if visible and not visible.startswith("-1") and visible.lower() not in ("none", "nodevfiles"):
        return f"CUDA_VISIBLE_DEVICES={visible}"
    if environment.get("ACCELERATE_USE_DEEPSPEED", "").lower() == "true":
        return "accelerate's DeepSpeed layout"
    # Only its launcher for one process says that it uses the CPU; that for several is for GPUs.
    several = int(environment.get("WORLD_SIZE", "1")) > 1
    launched = "ACCELERATE_MIXED_PRECISION" in environment
    if several and launched and "ACCELERATE_USE_CPU" not in environment:
        return f"accelerate's layout of {environment['WORLD_SIZE']} processes"
    return ""


def torch_build() -> str:
    """PyTorch's version and what it was built for."""
    import torch

    built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "a build for CPUs"
    return f"torch {torch.__version__}, {built}"


def look_at_gpus(allow_cpu: bool = False, layout: str = "") -> Iterator[Diagnosis]:
    """PyTorch's build, the GPUs that it sees with their memory, and NCCL. A login node has no GPU;
    a build of PyTorch for CPUs sees none on any node, and does not suit a `layout`."""
    if importlib.util.find_spec("torch") is None:
        yield note("GPUs", "torch is not installed", install_extra("train"))
        return
    import torch

    promise = promised_gpus(os.environ)
    if torch.cuda.is_available():
        yield ok("GPUs", f"{torch_build()}; {', '.join(_devices(torch))}")
        yield ok("NCCL", _nccl(torch))
    elif promise and not allow_cpu:
        advice = "install a CUDA build of torch (make setup TORCH=cuda), or set allow_cpu=true"
        yield wrong("GPUs", f"{promise}, but PyTorch sees none ({torch_build()})", advice)
    elif (shutil.which("nvidia-smi") or layout) and torch.version.cuda is None and not allow_cpu:
        why = f"layout {layout} is for GPUs" if layout else "nvidia-smi is there"
        advice = "install a CUDA build of torch (make setup TORCH=cuda)"
        yield wrong("GPUs", f"{why}, but {torch_build()}", advice)
    else:
        yield note("GPUs", f"none; {torch_build()}")


def _devices(torch: Any) -> Iterator[str]:
    for number in range(torch.cuda.device_count()):
        free, total = torch.cuda.mem_get_info(number)
        name = torch.cuda.get_device_name(number)
        yield f"{name} ({free / GIB:.0f} of {total / GIB:.0f} GiB free)"


def _nccl(torch: Any) -> str:
    found: Any = torch.cuda.nccl.version()
    if not isinstance(found, tuple):
        return str(found)
    return ".".join(str(number) for number in cast(tuple[int, ...], found))
