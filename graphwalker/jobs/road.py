"""The road as a chain of jobs: which stages a config asks for, and the command of each."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, model_validator

from graphwalker.config import Config, parse_config, read_settings
from graphwalker.errors import UserError
from graphwalker.files import is_address_file, write_text
from graphwalker.jobs.chain import new_stage, retry
from graphwalker.jobs.sections import (
    KINDS,
    OWN,
    ChainSection,
    check_folder,
    check_own_stages,
    read_sections,
    texts,
)
from graphwalker.jobs.stages import FILE, JobStage, append_stage, read_stages
from graphwalker.runs import CARD
from graphwalker.workers.shard import MOST_SHARDS

CONFIG = "jobs.yaml"
"""The config of a submitted road, in its run folder: every job reads its section there."""
ARRAYS = {"synth": CARD, "questions": CARD, "experts": CARD, "eval": "complete.json"}
"""Kinds of stages that are arrays of jobs, with the last file of each part."""
NO_GPU = "--gpus-per-node=0"
PROCESSES = 2


def _check_option(text: str) -> str:
    if not re.fullmatch(r"-.+", text, re.S) or re.match(r"--wr|--$", text):
        raise ValueError(f"{text!r} is no option of sbatch; write it as in --partition=a100")
    return text


SbatchOptions = tuple[Annotated[str, AfterValidator(_check_option)], ...]
"""Options only: another word would be taken for the script that runs."""


class ServerConfig(Config):
    """A server that runs as a job of its own while stages of the road need it."""

    serves: str = ""
    """What it serves: a Virtuoso folder, or a model for vLLM. Empty: no such server."""
    options: tuple[str, ...] = ()
    """Further words of its command, such as `--memory, 64GB` or `--data-parallel-size, "4"`."""
    sbatch: SbatchOptions = ()
    """Options of sbatch for its job, such as `--time=48:00:00`."""


class JobsConfig(Config):
    """The section `jobs` of a config of the road: how wide it is, and what sbatch is told."""

    shards: int = Field(8, ge=1, le=MOST_SHARDS)
    """Jobs of each array that makes data."""
    eval_shards: int = Field(8, ge=1, le=MOST_SHARDS)
    """Jobs of the array that evaluates."""
    processes: int = Field(PROCESSES, ge=1)
    """Processes of training on this machine, where it has no GPU."""
    data: SbatchOptions = ()
    """Options of sbatch for stages that make data: partition, account, time."""
    train: SbatchOptions = ()
    """Options of sbatch for training stages, such as `--partition=a100, --nodes=2`."""
    eval: SbatchOptions = ()
    """Options of sbatch for the evaluation."""
    memory: dict[str, str] = {}
    """Memory of a node by section, or for all of `data`, `train` or `eval`; written `grpo: {mem:
    300G}`, with options `train: {mem: 300G, sbatch: [--partition=a100]}`. None: the whole node for
    training and evaluation with GPUs."""
    seeds: tuple[str, ...] = ()
    """Training questions with SPARQL. Walks take their relations and start from their entities: a
    stage reads them first. An endpoint needs them."""
    virtuoso: ServerConfig = ServerConfig()
    """A Virtuoso that starts first; set `graph: ${run}/virtuoso.address` (`#IRI` may follow)."""
    teacher: ServerConfig = ServerConfig()
    """A vLLM server for the teacher; set `base_url: ${run}/teacher.address` where it is asked."""
    expert: ServerConfig = ServerConfig()
    """A vLLM server for the experts; set `base_url: ${run}/expert.address` where it is asked."""

    @model_validator(mode="before")
    @classmethod
    def _take_memory(cls, given: Any) -> Any:
        """`SECTION: {mem: 64G}`; an evaluation's section has the name of its options."""
        if not isinstance(given, dict):
            return given
        rest, memory = dict[str, Any](), dict[str, str]()
        for name, value in cast("dict[str, Any]", given).items():
            if isinstance(value, dict) and "mem" in value:
                value = dict(cast("dict[str, Any]", value))
                memory[name] = str(value.pop("mem"))
                if not re.fullmatch(r"\d+[KMGT]?", memory[name]):
                    raise ValueError(f"{name}.mem: {memory[name]!r} is no memory, such as 300G")
                value = value.pop("sbatch", None) if value.keys() <= {"sbatch"} else value
            if value is not None:
                rest[name] = value
        return {"memory": memory, **rest} if memory else rest

    def servers(self) -> tuple[tuple[str, ServerConfig], ...]:
        """Return the servers by name, in the order of their start."""
        return ("virtuoso", self.virtuoso), ("teacher", self.teacher), ("expert", self.expert)


def submit_road(
    path: Path | str, overrides: Sequence[str] = (), trust: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """Submit every stage of the road that the config at `path` describes.

    `overrides` are `a.b=c` settings by their full names (`sft1.lr=2e-5`). The config, with them, is
    written into its `run` folder. A config in a folder of `trust` may name modules of its own.
    Yields (stage, job); the job is `""` for a stage that is done. Raises `UserError` for a config
    without `run` or `graph`, and for a run that was submitted.
    """
    run, stages = _read_road(path, overrides, trust)
    if (run / FILE).exists():
        raise UserError(
            f"{run}: its jobs were submitted; `graphwalker jobs retry {run}` submits what is "
            f"missing, with the settings of {run / CONFIG}"
        )
    write_settings(path, overrides, run / CONFIG)
    for stage in stages:
        yield stage.name, new_stage(run, stage)


def retry_road(run: Path, trust: Sequence[str] = ()) -> list[tuple[str, str, list[int]]]:
    """Submit the stages of a road that are neither done nor in the queue; see `chain.retry`.

    The commands are those of `RUN/jobs.yaml`. Raises `UserError` where `RUN/jobs.jsonl` holds
    another one: the folder may come from elsewhere.
    """
    planned, there = road_stages(run / CONFIG, (), trust), read_stages(run)
    for name, stage in there.items():
        if stage.folder != str(Path.cwd()):
            raise UserError(f"{run}: submitted in {stage.folder}; run the same command there")
        if replace(stage, jobs=()) not in planned:
            raise UserError(
                f"{run / FILE}: the command of stage {name} is not what {run / CONFIG} gives; "
                f"read both, then remove {FILE} and submit {CONFIG} again"
            )
    for stage in planned:  # the submission may have been interrupted
        if stage.name not in there:
            append_stage(run, stage)
    return retry(run)


def road_stages(
    path: Path | str, overrides: Sequence[str] = (), trust: Sequence[str] = ()
) -> list[JobStage]:
    """Return the stages that `submit_road` submits, in order. Raises `UserError`."""
    return _read_road(path, overrides, trust)[1]


def _read_road(
    path: Path | str, overrides: Sequence[str], trust: Sequence[str]
) -> tuple[Path, list[JobStage]]:
    settings, source = read_settings(path, overrides), str(path)
    for key in ("run", "graph"):
        if not settings.get(key):
            raise UserError(f"{source}: {key} is missing; see configs/cluster.yaml")
    jobs = parse_config(JobsConfig, settings.get("jobs") or {}, f"{source}#jobs")
    run, graph = Path(check_folder(settings["run"], f"{source}: run")), str(settings["graph"])
    check_folder(str(run.resolve()), f"{source}: run")  # where the logs lie
    _check_addresses(settings, jobs, run, source)
    sections = read_sections(settings, source)
    known = {section.name for section in sections} | {"data", "train", "eval"}
    if unknown := jobs.memory.keys() - known:
        names = ", ".join(sorted(known))
        raise UserError(f"{source}: jobs.{min(unknown)}.mem: no such section; there are {names}")
    check_own_stages(sections, path, overrides, trust)
    return run, list(_Road(run, graph, jobs, sections).stages())


class _Road:
    """The jobs of one run, each behind those whose files its settings name."""

    def __init__(
        self, run: Path, graph: str, jobs: JobsConfig, sections: Sequence[ChainSection]
    ) -> None:
        self._run, self._graph, self._jobs, self._sections = run, graph, jobs, sections
        self._servers = {name: server for name, server in jobs.servers() if server.serves}
        self._made: dict[str, str] = {}
        """What a section makes -> the job after which it is whole."""

    def stages(self) -> Iterator[JobStage]:
        """Yield the jobs in the order of their submission."""
        for name, server in self._servers.items():
            yield self._server(name, server)
        if self._jobs.seeds:
            words = ("synth.sbatch", *seeds_command(self._jobs.seeds, self._graph, self._run))
            yield self._job("seeds", f"{self._run}/seeds/seeds.txt", self._jobs.data, words)
        for section in self._sections:
            jobs = list(self._jobs_of(section))
            self._made[section.out] = jobs[-1].name
            yield from jobs

    def _jobs_of(self, section: ChainSection) -> Iterator[JobStage]:
        """Return one job, or an array and the job that joins its parts.

        It is one for the few questions of a test, and for a model as the expert, which asks for
        many episodes at once and has one cap on money.
        """
        kind, name = KINDS[section.kind], section.name
        seeds = seeds_settings(self._run) if self._jobs.seeds else ()
        words = section.words(self._run / CONFIG, seeds)
        own = (section.module,) if section.kind == OWN else ()
        words = (*kind.script.split(), *own, *(words[1:] if kind.options == "train" else words))
        options: SbatchOptions = getattr(self._jobs, kind.options)
        after = (*(["seeds"] if seeds and kind.has_walks else []), *self._after(section))
        memory = self._memory(section, options)
        is_small = name.startswith("test") or section.settings.get("policy")
        if section.kind != "eval" and (section.kind not in ARRAYS or is_small):
            given = (*options, *memory)
            yield self._job(name, section.last_file, given, words, after, 0, section)
            return
        parts = self._jobs.eval_shards if section.kind == "eval" else self._jobs.shards
        shard = f"{section.out}/shards/{{part}}-of-{parts}/{ARRAYS[section.kind]}"
        yield self._job(name, shard, (*options, *memory), words, after, parts, section)
        if section.kind == "eval":
            joined, options = "report" if name == "eval" else f"{name}-report", (*options, NO_GPU)
            yield self._job(joined, section.last_file, options, words, (name,), 0, section)
            return
        # The shards are the user's own, and may name seeds and phrases.
        merge = ("--graph", self._graph, "--out", section.out, "--trust", section.out)
        more = ("--questions", section.text("questions")) if section.kind == "experts" else ()
        words = ("merge.sbatch", *merge, *more)
        yield self._job(f"{name}-merge", section.last_file, options, words, (name,))

    def _memory(self, section: ChainSection, options: SbatchOptions) -> tuple[str, ...]:
        """Return what sbatch is told of a node's memory: training loads a model for each GPU."""
        kind, memory = KINDS[section.kind].options, self._jobs.memory
        if own := memory.get(section.name) or memory.get(kind):
            return (f"--mem={own}",)
        settled = kind == "data" or any(o.startswith(("--mem", NO_GPU)) for o in options)
        return () if settled else ("--mem=0",)

    def _after(self, section: ChainSection) -> tuple[str, ...]:
        """Return the jobs that make what the section's settings name."""
        return tuple(
            stage
            for out, stage in self._made.items()
            if any(Path(out) in (Path(text), *Path(text).parents) for text in section.inputs)
        )

    def _job(
        self,
        name: str,
        makes: str,
        options: Sequence[str],
        words: Sequence[str],
        after: tuple[str, ...] = (),
        parts: int = 0,
        section: ChainSection | None = None,
    ) -> JobStage:
        """`words` are a script of `slurm/` and its arguments."""
        command = (*options, f"slurm/{words[0]}", *words[1:])
        given = (*(texts(section.settings) if section else ()), *words)
        named = {Path(text.partition("#")[0]) for text in given}
        servers = (server for server in self._servers if self._address(server) in named)
        return JobStage(name, command, makes, (*servers, *after), parts, str(Path.cwd()))

    def _server(self, name: str, server: ServerConfig) -> JobStage:
        script = (
            ("slurm/graph.sbatch", "serve") if name == "virtuoso" else ("slurm/teacher.sbatch",)
        )
        file = str(self._address(name))
        command = (*server.sbatch, *script, server.serves, file, *server.options)
        return JobStage(name, command, file, folder=str(Path.cwd()), server=True)

    def _address(self, server: str) -> Path:
        return self._run / f"{server}.address"


def seeds_command(files: Sequence[str], graph: str, run: Path) -> tuple[str, ...]:
    """Return the words of the command that reads from training questions where walks may start."""
    return ("seeds", *files, "--graph", graph, "--out", f"{run}/seeds")


def seeds_settings(run: Path) -> tuple[str, ...]:
    """Return the settings by which walks start there."""
    return f"seeds_file={run}/seeds/seeds.txt", f"predicates_file={run}/seeds/predicates.txt"


def _check_addresses(settings: Mapping[str, Any], jobs: JobsConfig, run: Path, source: str) -> None:
    """Raise `UserError` where a server's address reaches no setting, or a setting has no server."""
    named = {Path(text.partition("#")[0]) for text in texts(settings) if is_address_file(text)}
    for name, server in jobs.servers():
        file = run / f"{name}.address"
        if server.serves and file not in named:
            raise UserError(
                f"{source}: jobs.{name} writes its address to {file}, but no setting reads it "
                f"({'graph' if name == 'virtuoso' else 'base_url'}: {file})"
            )
        if file in named and not server.serves:
            raise UserError(f"{source}: no job writes {file}; set jobs.{name}.serves=...")


def write_settings(path: Path | str, overrides: Sequence[str], to: Path) -> None:
    """Write the file with the overrides to `to`; a job resolves what names its environment."""
    from omegaconf import OmegaConf

    from graphwalker.config import config_file

    loaded = OmegaConf.merge(
        OmegaConf.load(config_file(path)), OmegaConf.from_dotlist(list(overrides))
    )
    to.parent.mkdir(parents=True, exist_ok=True)
    write_text(to, f"# {path} as it was submitted\n{OmegaConf.to_yaml(loaded)}")


FOLDERS = ("slurm", "configs/accelerate")
_PACKAGE = Path(__file__).parents[1]


def write_scripts(out: Path) -> Iterator[Path]:
    """Copy what is not there yet; yields each file that was written. `slurm/site.sh` is the user's
    to change, so nothing is ever replaced."""
    for folder in FOLDERS:
        packed = _PACKAGE / folder  # of a wheel; a checkout has them beside the package
        source = packed if packed.is_dir() else _PACKAGE.parent / folder
        for file in sorted(source.iterdir()):
            place = out / folder / file.name
            if file.is_file() and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
                yield place


def check_scripts() -> None:
    """Raise `UserError` where jobs would find no scripts."""
    if not Path(FOLDERS[0]).is_dir():
        raise UserError(
            "slurm/: no job scripts in this folder; `graphwalker jobs scripts` writes them"
        )
