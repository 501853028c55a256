"""Settings of an evaluation: which questions, over which graph, by which policy."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from eval.run.beside import Beside, left_out, write_beside
from eval.run.evaluate import Progress, evaluate_with
from eval.run.records import PREDICTIONS
from eval.run.shards import has_shards
from eval.run.workers import LazyProcess, ThisProcess, WorkerProcesses, Workers, worker_maker
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.exemplars import MakeExemplars, run_exemplars
from graphwalker.agents.model_environment import with_model_settings
from graphwalker.agents.policies import WITHOUT_MODEL, check_questions, load_policy
from graphwalker.agents.react import IOPromptAgent
from graphwalker.config import Config, RunSeed
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import ground, refuse_unknown_topics, settle
from graphwalker.errors import GraphError, IncompleteError, PolicyError, UserError
from graphwalker.files import read_jsonl
from graphwalker.graphs.open import is_endpoint, open_graph
from graphwalker.oracle.choices import NO_PHRASES
from graphwalker.policies.base import Policy
from graphwalker.policies.chat.config import divide_caps
from graphwalker.policies.chat.policy import ChatPolicy
from graphwalker.policies.config import PolicyConfig, policy_identity, policy_name
from graphwalker.question import Question
from graphwalker.trust import OneOrSeveral, TrustedFolders
from graphwalker.workers.pool import worker_number
from graphwalker.workers.ray import RayActors
from graphwalker.workers.shard import Shard


def _parted(names: Any) -> Any:
    return [n.strip() for n in names.split(",") if n.strip()] if isinstance(names, str) else names


class EvalConfig(Config):
    """`graphwalker eval`: run an agent on a file of questions and score it."""

    basic = (
        "policy.model", "policy.api.base_url", "policy.engine", "limit", "samples",
        "sampled_questions", "temperature", "max_tokens", "concurrency", "workers",
        "questions_format", "baselines", "ceiling", "retries", "seed", "environment.preset",
        "environment.prompt", "environment.top_relations", "environment.ranker",
    )  # fmt: skip

    graph: str
    """The graph that the agent walks: a compiled graph, a SPARQL endpoint (http://...), a recording
    (.jsonl), or `module:factory`."""
    graph_cache: str = ""
    """Folder that keeps an endpoint's answers over runs. Empty: they are kept in memory only."""
    record_calls: str = ""
    """A .jsonl file to which every graph call is written. Given as `graph`, it replays the run
    exactly, without the graph. It needs workers=1."""
    questions: Annotated[tuple[str, ...], OneOrSeveral]
    """The question file: our JSONL, or a dataset as published (docs/datasets.md), also .gz. A list
    names several."""
    questions_format: str = "auto"
    """The dataset's name where the file does not show it (`graphwalker dataset list`)."""
    unresolved: str = "stop"
    """What to do with questions of one's own whose topic entity or answer the graph does not
    settle: `stop` lists them in `unresolved.jsonl` in the output folder, `drop` leaves them out.
    The edited file: its topics and answers count."""
    output_dir: str
    """Folder of the run, with predictions.jsonl and samples.jsonl. The same command resumes a
    killed run."""
    policy: PolicyConfig
    """The model under test."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """Tools, limits and prompt. What is not set is as the model was trained, where its folder says
    so (`graphwalker.json`), as are `max_tokens` and `policy.format`."""
    force_environment: bool = False
    """Whether the model may run in another preset than the one that it was trained for."""
    trust: TrustedFolders = ()
    """Folders of models and data whose files may name code, paths, addresses and variables
    (`docs/threat-model.md`). What they name is told before it is used."""
    limit: int = Field(default=0, ge=0)
    """Number of questions to use, from the start of the file. 0: all."""
    samples: int = Field(default=0, ge=0)
    """Number of sampled episodes per question for Pass@k, besides the greedy one."""
    sampled_questions: int = Field(default=0, ge=0)
    """Number of questions to sample for, evenly spread over the file. 0: all."""
    temperature: float = Field(default=1.0, gt=0)
    """Temperature of the sampled episodes."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Sampled tokens are drawn from the likeliest ones that make up this share. 1: from all."""
    top_k: int = Field(default=0, ge=0)
    """Sampled tokens are drawn from so many of the likeliest ones. 0: from all."""
    min_p: float = Field(default=0.0, ge=0, lt=1)
    """A token less likely than this share of the likeliest one is never drawn."""
    max_tokens: int = Field(default=512, ge=1)
    """Most completion tokens of a turn. Unset, a model that reasons first, by its
    name (o3, R1, QwQ, ...), has 4,096."""
    concurrency: int = Field(default=256, ge=1)
    """Number of episodes under way at once, in each worker."""
    workers: int = Field(default=1, ge=1)
    """Number of worker processes, each with the model on a device of its own (GPUs in turn). The
    files are the same for any number. For local models only: an API has
    `policy.api.concurrency`."""
    shard: str = ""
    """Part i of n of the questions, as `0/8`, for job arrays. The same command without it joins
    the parts, runs what is missing, and writes the report."""
    engine: Literal["processes", "ray"] = "processes"
    """Where workers run: on this machine, or as actors of a Ray cluster. The files are the same."""
    ray_address: str = ""
    """Address of the Ray cluster, such as `node1:6379` or `auto`. Empty: `RAY_ADDRESS`, else Ray is
    started on this machine."""
    ray_gpus: float = Field(default=0.0, ge=0)
    """GPUs, or the share of one, of each worker on the Ray cluster."""
    metrics: Annotated[tuple[str, ...], BeforeValidator(_parted)] = ()
    """Metrics in the report besides EM, F1 and Hits@1: published ones by their names, and
    `module:NAME` for a function of your own, NAME(answers: list[str], gold: list[str]) -> float."""
    retries: int = Field(default=1, ge=0)
    """Number of further tries after an infrastructure failure, before the episode is set aside."""
    failures_in_a_row: int = Field(default=10, ge=0)
    """So many infrastructure failures in a row end the run; the same command resumes it. 0: no
    number does."""
    baselines: Beside = "auto"
    """Whether policies without a model answer the same questions, to stand beside the agent:
    `always`, `never`, or `auto`: where neither an endpoint nor a chat reranker is asked."""
    ceiling: Beside = "auto"
    """Whether it is measured how many of the questions anyone could answer in this environment;
    `auto` as in `baselines`. A run ends where none could, or where the graph has less than half of
    the topic entities, unless this is `never`."""
    seed: RunSeed = 0
    """Seed of the sampling and of the bootstrap."""


def run_folder(config: EvalConfig) -> Path:
    """Return the folder of the run's files; that of a shard is inside its run's folder."""
    out = Path(config.output_dir)
    return Shard.parse(config.shard).folder(out) if config.shard else out


def run_eval(
    config: EvalConfig,
    progress: Progress | None = None,
    make_exemplars: MakeExemplars | None = None,
) -> Path:
    """Evaluate by the config; returns the folder of the run. Raises as `evaluate_with` does.

    `make_exemplars` makes those of a new run, where `environment.exemplars` asks for some.
    """
    config = with_model_settings(config)
    shard = Shard.parse(config.shard) if config.shard else None
    out = Path(config.output_dir)
    loaded = [
        question
        for path in config.questions
        for question in load_questions(path, config.limit or None, config.questions_format)
    ][: config.limit or None]
    environment = _environment(config, make_exemplars, loaded)
    settled = settle(loaded, environment.graph, out, config.unresolved)
    questions = ground(settled, environment.graph)
    check_questions(config.policy, questions, environment.oracle)
    if not isinstance(environment.agent, IOPromptAgent):  # that one asks no graph
        least = 0.0 if config.ceiling == "never" else 0.5
        refuse_unknown_topics(questions, environment.graph, config.graph, least)
    with ExitStack() as stack:
        capped = divide_caps(config, shard.of if shard else 1)
        workers = _workers(capped, environment, out, stack)
        folder = evaluate_with(
            workers,
            questions,
            out,
            samples=config.samples,
            sampled_questions=config.sampled_questions,
            temperature=config.temperature,
            cuts=_cuts(config),
            seed=config.seed,
            max_tokens=config.max_tokens,
            failures_in_a_row=config.failures_in_a_row,
            identity=policy_identity(config.policy),
            progress=progress,
            shard=shard,
        )
    _check_endpoint(config, environment)
    if shard:
        return folder
    _beside(config, questions, environment, progress, len(loaded) - len(settled))
    return out


def _check_endpoint(config: EvalConfig, environment: Environment) -> None:
    """Ask the endpoint once more at the end. Raises `IncompleteError` where it holds nothing now.

    Each empty answer during the run was believed only with a triple shown beside it.
    """
    if is_endpoint(config.graph) and not isinstance(environment.agent, IOPromptAgent):
        try:
            environment.graph.info()
        except GraphError as error:
            raise IncompleteError(f"the endpoint at the end of the run: {error}") from None


def _cuts(config: EvalConfig) -> dict[str, Any]:
    """Return what is set of top_p, top_k and min_p; a run without any resumes an older one."""
    return {
        name: value
        for name in ("top_p", "top_k", "min_p")
        if (value := getattr(config, name)) != EvalConfig.model_fields[name].default
    }


def _beside(
    config: EvalConfig,
    questions: Sequence[Question],
    environment: Environment,
    progress: Progress | None,
    unresolved: int = 0,
) -> None:
    """Measure the baselines and the ceiling of the run. Raises `UserError` for a ceiling of 0."""
    costly = ""
    if is_endpoint(config.graph):
        costly = "left out over an endpoint"
    elif environment.config.reranker.chats:
        costly = "left out with a chat model as reranker"
    without_model = config.policy.api is None and config.policy.model in WITHOUT_MODEL
    try:
        record = write_beside(
            Path(config.output_dir),
            questions,
            environment,
            baselines=left_out(config.baselines, costly or ("is one" if without_model else "")),
            ceilings=left_out(config.ceiling, costly),
            seed=config.seed,
            max_tokens=config.max_tokens,
            unresolved=unresolved,
            progress=progress,
        )
    except (GraphError, PolicyError) as error:  # the agent's own figures stand
        raise IncompleteError(f"baselines and ceiling: {error}") from None
    nothing_won = record["ceiling"] and record["ceiling"]["winnable"] == 0
    # Tools of one's own may lead where the ceiling, which walks by relations, does not.
    if nothing_won and not _any_right(Path(config.output_dir) / PREDICTIONS):
        raise UserError(
            f"ceiling 0: on {config.graph} no walk of this environment leads to the answers of any "
            f"question of {', '.join(config.questions)}; are they of this graph?"
        )


def _any_right(predictions: Path) -> bool:
    """Return whether an episode of the run earned an exact match."""
    return any(record["scores"].get("em") for record in read_jsonl(predictions))


def _environment(
    config: EvalConfig,
    make_exemplars: MakeExemplars | None = None,
    questions: Sequence[Question] = (),
) -> Environment:
    cache = config.graph_cache if is_endpoint(config.graph) else ""
    wikidata = config.environment.layers.wikidata
    if config.record_calls and config.workers > 1:
        raise UserError(
            "record_calls: one file cannot be written by several workers; set workers=1"
        )
    graph = open_graph(config.graph, cache_dir=cache, wikidata=wikidata, record=config.record_calls)
    environment = config.environment
    if config.policy.api is not None and "answers" not in environment.model_fields_set:
        environment = environment.model_copy(update={"answers": "lenient"})
    out = Path(config.output_dir)
    shown = run_exemplars(out, graph, environment, config.seed, questions, make_exemplars)
    return Environment(graph, environment, exemplars=shown)


def _workers(config: EvalConfig, environment: Environment, out: Path, stack: ExitStack) -> Workers:
    if config.workers > 1 or config.engine == "ray":
        if config.policy.api is not None:
            raise UserError("workers is for local models: raise policy.api.concurrency instead")
        if config.policy.engine == "vllm":
            raise UserError(
                "workers is for policy.engine=transformers: vLLM batches by itself; for several "
                "GPUs set policy.vllm.tensor_parallel, or run `vllm serve`"
            )
        name = policy_name(config.policy)
        workers = WorkerProcesses(
            build_worker,
            config,
            config.workers,
            environment,
            name,
            chunk=config.concurrency,
            backend=_ray_backend(config) if config.engine == "ray" else None,
        )
        return stack.enter_context(workers)
    if not config.shard and has_shards(out):
        name = policy_name(config.policy)
        return LazyProcess(environment, name, lambda: _this_process(config, environment, stack))
    return _this_process(config, environment, stack)


def _ray_backend(config: EvalConfig) -> RayActors:
    """Workers on other machines find graph and model by whole paths."""
    model, graph = Path(config.policy.model), Path(config.graph)
    policy = config.policy
    if model.is_dir():
        policy = policy.model_copy(update={"model": str(model.resolve())})
    if graph.exists():
        config = config.model_copy(update={"graph": str(graph.resolve())})
    config = config.model_copy(update={"policy": policy})
    return RayActors(
        worker_maker,
        (build_worker, config, config.workers),
        config.workers,
        address=config.ray_address,
        gpus=config.ray_gpus,
    )


def _this_process(config: EvalConfig, environment: Environment, stack: ExitStack) -> ThisProcess:
    # A shard pays into a store of its own: SQLite does not belong on a disk that nodes share.
    policy = _policy(config, environment, run_folder(config))
    if isinstance(policy, ChatPolicy):
        stack.callback(policy.close)
    return ThisProcess(environment, policy, config.concurrency, config.retries)


def _policy(
    config: EvalConfig, environment: Environment, folder: Path | None = None, worker: int = 0
) -> Policy:
    """Load the policy; the oracle has the words of the phrase bank for its thoughts."""
    policy, phrases = config.policy, NO_PHRASES
    if policy.model == "oracle" and policy.api is None:
        from data_pipeline.wording.vocabulary import MET_AT, lexicon_of, look_around

        graph, form = environment.graph, config.questions_format
        asks = [one for path in config.questions for one in load_questions(path, MET_AT, form)]
        phrases = lexicon_of(graph, around=look_around(graph, asks))
    return load_policy(policy, folder, worker=worker, environment=environment, phrases=phrases)


def build_worker(config: EvalConfig) -> ThisProcess:
    """Open the graph and the model in a worker process."""
    environment = _environment(config)
    policy = _policy(config, environment, worker=worker_number())
    return ThisProcess(environment, policy, config.concurrency, config.retries)
