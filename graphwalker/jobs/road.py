"""The road as a chain of jobs: which stages a config asks for, and the command of each."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from graphwalker.config import Config, parse_config, read_settings
from graphwalker.errors import UserError
from graphwalker.files import is_address_file, write_text
from graphwalker.jobs.chain import new_stage, retry
from graphwalker.jobs.sections import ChainSection, check_folder, command_of, read_sections, texts
from graphwalker.jobs.stages import FILE, JobStage, append_stage, read_stages
from graphwalker.workers.shard import MOST_SHARDS

CONFIG = "jobs.yaml"
"""The config of a submitted road, in its run folder: every job reads its section there."""


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
    data: SbatchOptions = ()
    """Options of sbatch for stages that make data: partition, account, time."""
    train: SbatchOptions = ()
    """Options of sbatch for training stages, such as `--partition=a100, --nodes=2`."""
    eval: SbatchOptions = ()
    """Options of sbatch for the evaluation."""
    seeds: tuple[str, ...] = ()
    """Training questions with SPARQL. Walks take their relations and start from their entities: a
    stage reads them first. An endpoint needs them."""
    virtuoso: ServerConfig = ServerConfig()
    """A Virtuoso that starts first; set `graph: ${run}/virtuoso.address` (`#IRI` may follow)."""
    teacher: ServerConfig = ServerConfig()
    """A vLLM server for the teacher; set `base_url: ${run}/teacher.address` where it is asked."""
    expert: ServerConfig = ServerConfig()
    """A vLLM server for the experts; set `base_url: ${run}/expert.address` where it is asked."""


def submit_road(path: Path | str, overrides: Sequence[str] = ()) -> Iterator[tuple[str, str]]:
    """Submit every stage of the road that the config at `path` describes.

    `overrides` are `a.b=c` settings by their full names (`sft1.lr=2e-5`). The config, with them, is
    written into its `run` folder. Yields (stage, job); the job is `""` for a stage that is done.
    Raises `UserError` for a config without `run` or `graph`, and for a run that was submitted.
    """
    settings = read_settings(path, overrides)
    run, stages = _read_road(settings, str(path))
    if (run / FILE).exists():
        raise UserError(
            f"{run}: its jobs were submitted; `graphwalker jobs retry {run}` submits what is "
            f"missing, with the settings of {run / CONFIG}"
        )
    write_settings(path, overrides, run / CONFIG)
    for stage in stages:
        yield stage.name, new_stage(run, stage)


def retry_road(run: Path) -> list[tuple[str, str, list[int]]]:
    """Submit the stages of a road that are neither done nor in the queue; see `chain.retry`.

    The commands are those of `RUN/jobs.yaml`. Raises `UserError` where `RUN/jobs.jsonl` holds
    another one: the folder may come from elsewhere.
    """
    planned, there = road_stages(run / CONFIG), read_stages(run)
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


def road_stages(path: Path | str, overrides: Sequence[str] = ()) -> list[JobStage]:
    """Return the stages that `submit_road` submits, in order. Raises `UserError`."""
    return _read_road(read_settings(path, overrides), str(path))[1]


def _read_road(settings: Mapping[str, Any], source: str) -> tuple[Path, list[JobStage]]:
    for key in ("run", "graph"):
        if not settings.get(key):
            raise UserError(f"{source}: {key} is missing; see configs/cluster.yaml")
    jobs = parse_config(JobsConfig, settings.get("jobs") or {}, f"{source}#jobs")
    run, graph = Path(check_folder(settings["run"], f"{source}: run")), str(settings["graph"])
    check_folder(str(run.resolve()), f"{source}: run")  # where the logs lie
    _check_addresses(settings, jobs, run, source)
    sections = read_sections(settings, source)
    return run, list(_Road(run, graph, jobs, sections).stages())


class _Road:
    """The stages of one run, each behind those whose files its settings name."""

    def __init__(
        self, run: Path, graph: str, jobs: JobsConfig, sections: Sequence[ChainSection]
    ) -> None:
        self._run, self._graph, self._jobs, self._sections = run, graph, jobs, sections
        known = {"virtuoso": jobs.virtuoso, "teacher": jobs.teacher, "expert": jobs.expert}
        self._servers = {name: server for name, server in known.items() if server.serves}
        self._made: dict[str, str] = {}
        """Folder of a section -> the stage after which it is whole."""

    def stages(self) -> Iterator[JobStage]:
        """Yield the stages in the order of their submission."""
        for name, server in self._servers.items():
            yield self._server(name, server)
        if self._jobs.seeds:
            out = f"{self._run}/seeds"
            words = ("synth.sbatch", "seeds", *self._jobs.seeds, "--graph", self._graph)
            yield self._stage("seeds", f"{out}/seeds.txt", self._jobs.data, (*words, "--out", out))
        makers = {
            **{"synth": self._synth, "questions": self._questions, "bench": self._benchmark},
            **{"experts": self._experts, "sft": self._sft, "grpo": self._sft},
            **{"eval": self._eval, "report": self._report, "make": self._make},
        }
        for section in self._sections:
            stages = list(makers[section.kind](section))
            self._made[section.out] = stages[-1].name
            yield from stages

    def _synth(self, section: ChainSection, verb: str = "synth") -> Iterator[JobStage]:
        words = ("synth.sbatch", verb, *self._config(section.name), *self._walks())
        seeds = ("seeds",) if self._jobs.seeds else ()
        yield from self._data(section, words, seeds)

    def _questions(self, section: ChainSection) -> Iterator[JobStage]:
        yield from self._synth(section, "questions")

    def _experts(self, section: ChainSection) -> Iterator[JobStage]:
        words = ("experts.sbatch", *self._config(section.name))
        yield from self._data(section, words, (), ("--questions", section.text("questions")))

    def _data(
        self,
        section: ChainSection,
        words: tuple[str, ...],
        before: tuple[str, ...],
        merged_with: tuple[str, ...] = (),
    ) -> Iterator[JobStage]:
        """An array and its merge; one job for the few questions of a test, and for a model as the
        expert, which asks for many episodes at once and has one cap on money."""
        name, out, parts = section.name, section.out, self._jobs.shards
        after = (*before, *self._after(section))
        if name.startswith("test") or section.settings.get("policy"):
            yield self._stage(
                name, f"{out}/datacard.json", self._jobs.data, words, after, 0, section
            )
            return
        shard = f"{out}/shards/{{part}}-of-{parts}/datacard.json"
        yield self._stage(name, shard, self._jobs.data, words, after, parts, section)
        yield self._merge(f"{name}-merge", out, name, merged_with)

    def _benchmark(self, section: ChainSection) -> Iterator[JobStage]:
        words = ("synth.sbatch", "bench", *self._config(section.name), *self._walks())
        seeds = ("seeds",) if self._jobs.seeds else ()
        after = (*seeds, *self._after(section))
        yield self._stage(
            section.name, f"{section.out}/GWBench.json", self._jobs.data, words, after, 0, section
        )

    def _make(self, section: ChainSection) -> Iterator[JobStage]:
        words = ("synth.sbatch", "make", *command_of(section))
        made, after = f"{section.out}/{section.text('makes')}", self._after(section)
        yield self._stage(section.name, made, self._jobs.data, words, after, 0, section)

    def _sft(self, section: ChainSection) -> Iterator[JobStage]:
        words = (f"{section.kind}.sbatch", f"{self._run / CONFIG}#{section.name}")
        made, after = f"{section.out}/final", self._after(section)
        yield self._stage(section.name, made, self._jobs.train, words, after, 0, section)

    def _eval(self, section: ChainSection) -> Iterator[JobStage]:
        name, out, parts = section.name, section.out, self._jobs.eval_shards
        words = ("eval.sbatch", *self._config(name))
        shard = f"{out}/shards/{{part}}-of-{parts}/complete.json"
        after = self._after(section)
        yield self._stage(name, shard, self._jobs.eval, words, after, parts, section)
        options = (*self._jobs.eval, "--gpus-per-node=0")
        joined = "report" if name == "eval" else f"{name}-report"
        yield self._stage(joined, f"{out}/report.html", options, words, (name,), 0, section)

    def _report(self, section: ChainSection) -> Iterator[JobStage]:
        words = ("synth.sbatch", "make", *command_of(section))
        made, after = f"{section.out}/report.html", self._after(section)
        yield self._stage(section.name, made, self._jobs.data, words, after, 0, section)

    def _walks(self) -> tuple[str, ...]:
        if not self._jobs.seeds:
            return ()
        out = f"{self._run}/seeds"
        return f"seeds_file={out}/seeds.txt", f"predicates_file={out}/predicates.txt"

    def _after(self, section: ChainSection) -> tuple[str, ...]:
        """The stages that make what the section's settings name."""
        named = [text for text in texts(section.settings) if text != section.out]
        return tuple(
            stage
            for out, stage in self._made.items()
            if any(text == out or text.startswith(f"{out}/") for text in named)
        )

    def _merge(self, name: str, out: str, after: str, more: tuple[str, ...] = ()) -> JobStage:
        own = ("--trust", out)  # the shards are the user's own, and may name seeds and phrases
        words = ("merge.sbatch", "--graph", self._graph, "--out", out, *own, *more)
        return self._stage(name, f"{out}/datacard.json", self._jobs.data, words, (after,))

    def _stage(
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
        named = {text.partition("#")[0] for text in given}
        servers = (server for server in self._servers if str(self._address(server)) in named)
        return JobStage(name, command, makes, (*servers, *after), parts, str(Path.cwd()))

    def _server(self, name: str, server: ServerConfig) -> JobStage:
        script = (
            ("slurm/graph.sbatch", "serve") if name == "virtuoso" else ("slurm/teacher.sbatch",)
        )
        file = str(self._address(name))
        command = (*server.sbatch, *script, server.serves, file, *server.options)
        return JobStage(name, command, file, folder=str(Path.cwd()), server=True)

    def _config(self, name: str) -> tuple[str, ...]:
        return ("--config", f"{self._run / CONFIG}#{name}")

    def _address(self, server: str) -> Path:
        return self._run / f"{server}.address"


def _check_addresses(settings: Mapping[str, Any], jobs: JobsConfig, run: Path, source: str) -> None:
    """Raise `UserError` where a server's address reaches no setting, or a setting has no server."""
    named = {Path(text.partition("#")[0]) for text in texts(settings) if is_address_file(text)}
    for name in ("virtuoso", "teacher", "expert"):
        file, server = run / f"{name}.address", getattr(jobs, name)
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
