"""The road as a chain of jobs: which stages a config asks for, and the command of each."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from graphwalker.config import Config, parse_config, read_settings
from graphwalker.errors import UserError
from graphwalker.files import is_address_file, write_text
from graphwalker.jobs.chain import new_stage, retry
from graphwalker.jobs.stages import FILE, JobStage, append_stage, read_stages

CONFIG = "jobs.yaml"
"""The config of a submitted road, in its run folder: every job reads its section there."""
SECTIONS = "synth", "rl", "test", "experts", "sft1", "sft2", "grpo", "eval"
MORE = "practice", "test_words"
"""Sections that a road may have: questions for GRPO alone, and test questions in held-out words."""


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

    shards: int = Field(8, ge=1)
    """Jobs of each array that makes data."""
    eval_shards: int = Field(8, ge=1)
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
    _write_settings(path, overrides, run / CONFIG)
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
    for key in ("run", "graph", *SECTIONS):
        if not settings.get(key):
            raise UserError(f"{source}: {key} is missing; see configs/cluster.yaml")
    jobs = parse_config(JobsConfig, settings.get("jobs") or {}, f"{source}#jobs")
    run, graph = Path(str(settings["run"])), str(settings["graph"])
    _check_addresses(settings, jobs, run, source)
    return run, list(_Road(run, graph, jobs, settings).stages())


class _Road:
    """The stages of one run, each behind what it waits for."""

    def __init__(
        self, run: Path, graph: str, jobs: JobsConfig, settings: Mapping[str, Any]
    ) -> None:
        self._run, self._graph, self._jobs, self._settings = run, graph, jobs, settings
        known = {"virtuoso": jobs.virtuoso, "teacher": jobs.teacher, "expert": jobs.expert}
        self._servers = {name: server for name, server in known.items() if server.serves}

    def stages(self) -> Iterator[JobStage]:
        """Yield the stages in the order of their submission."""
        for name, server in self._servers.items():
            yield self._server(name, server)
        yield from self._data()
        yield from self._training()
        yield from self._evaluation()

    def _data(self) -> Iterator[JobStage]:
        run, jobs = self._run, self._jobs
        shard = f"shards/{{part}}-of-{jobs.shards}/datacard.json"
        seeds: tuple[str, ...] = ()
        walks: list[str] = []
        if jobs.seeds:
            files = f"{run}/seeds/seeds.txt", f"{run}/seeds/predicates.txt"
            walks = [f"seeds_file={files[0]}", f"predicates_file={files[1]}"]
            words = ("synth.sbatch", "seeds", *jobs.seeds, "--graph", self._graph)
            yield self._stage("seeds", files[0], jobs.data, (*words, "--out", f"{run}/seeds"))
            seeds = ("seeds",)
        for name, verb in (("synth", "synth"), ("rl", "questions"), ("practice", "questions")):
            if not self._settings.get(name):
                continue
            words = ("synth.sbatch", verb, *self._config(name), *walks)
            made = f"{run}/{name}"
            yield self._stage(name, f"{made}/{shard}", jobs.data, words, seeds, jobs.shards)
            yield self._merge(f"{name}-merge", made, name)
        for name in ("test", "test_words"):
            if self._settings.get(name):
                words = ("synth.sbatch", "questions", *self._config(name), *walks)
                yield self._stage(name, f"{run}/{name}/datacard.json", jobs.data, words, seeds)
        words, after = ("experts.sbatch", *self._config("experts")), ("rl-merge",)
        yield self._stage("experts", f"{run}/roll/{shard}", jobs.data, words, after, jobs.shards)
        questions = ("--questions", f"{run}/rl/questions.jsonl")
        yield self._merge("experts-merge", f"{run}/roll", "experts", questions)

    def _training(self) -> Iterator[JobStage]:
        questions = "practice" if self._settings.get("practice") else "rl"
        for name, script, after in (
            ("sft1", "sft.sbatch", ("synth-merge",)),
            ("sft2", "sft.sbatch", ("sft1", "experts-merge")),
            ("grpo", "grpo.sbatch", ("sft2", f"{questions}-merge")),
        ):
            words = (script, f"{self._run / CONFIG}#{name}")
            yield self._stage(name, f"{self._run}/{name}/final", self._jobs.train, words, after)

    def _evaluation(self) -> Iterator[JobStage]:
        made, jobs = f"{self._run}/eval", self._jobs
        part = f"{made}/shards/{{part}}-of-{jobs.eval_shards}/complete.json"
        tests = (name for name in ("test", "test_words") if self._settings.get(name))
        words, after = ("eval.sbatch", *self._config("eval")), ("grpo", *tests)
        yield self._stage("eval", part, jobs.eval, words, after, jobs.eval_shards)
        options = (*jobs.eval, "--gpus-per-node=0")
        yield self._stage("report", f"{made}/report.html", options, words, ("eval",))

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
    ) -> JobStage:
        """`words` are a script of `slurm/` and its arguments."""
        command = (*options, f"slurm/{words[0]}", *words[1:])
        section = name if name in (*SECTIONS, *MORE) else "eval" if name == "report" else ""
        named = {text.partition("#")[0] for text in (*_texts(self._settings.get(section)), *words)}
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
    named = {Path(text.partition("#")[0]) for text in _texts(settings) if is_address_file(text)}
    for name in ("virtuoso", "teacher", "expert"):
        file, server = run / f"{name}.address", getattr(jobs, name)
        if server.serves and file not in named:
            raise UserError(
                f"{source}: jobs.{name} writes its address to {file}, but no setting reads it "
                f"({'graph' if name == 'virtuoso' else 'base_url'}: {file})"
            )
        if file in named and not server.serves:
            raise UserError(f"{source}: no job writes {file}; set jobs.{name}.serves=...")


def _texts(settings: Any) -> Iterator[str]:
    """Yield every text in nested settings."""
    if isinstance(settings, Mapping):
        for value in settings.values():  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(value)
    elif isinstance(settings, list):
        for value in settings:  # pyright: ignore[reportUnknownVariableType]
            yield from _texts(value)
    elif isinstance(settings, str):
        yield settings


def _write_settings(path: Path | str, overrides: Sequence[str], to: Path) -> None:
    """Write the file with the overrides; what it takes from the environment a job resolves."""
    from omegaconf import OmegaConf

    from graphwalker.config import config_file

    loaded = OmegaConf.merge(
        OmegaConf.load(config_file(path)), OmegaConf.from_dotlist(list(overrides))
    )
    to.parent.mkdir(parents=True, exist_ok=True)
    write_text(to, f"# {path} as it was submitted\n{OmegaConf.to_yaml(loaded)}")
