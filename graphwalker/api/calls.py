"""The pipeline as plain functions: each is one command of the command line, without its files."""

import shutil
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from weakref import WeakKeyDictionary

from graphwalker.agents.environment import Environment
from graphwalker.agents.rollout import rollout as run_episodes
from graphwalker.api.environment import ScriptEnvironment
from graphwalker.config import parse_config
from graphwalker.counts import number_of
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Policy, Sampling
from graphwalker.question import Question
from graphwalker.trajectory import Trajectory


def make_world(out: str | Path, entities: int = 3000, seed: int = 0) -> KnowledgeGraph:
    """Make a fictional knowledge graph below the folder `out` and open it.

    The same size and seed give the same graph. Raises `UserError` for a size out of range.
    """
    from graphwalker.world.generate import make_world as make

    make(entities, seed, Path(out))
    return open_graph(Path(out) / "graph")


def load_dataset(
    path: str | Path,
    graph: KnowledgeGraph | None = None,
    limit: int | None = None,
    format: str = "auto",
) -> "QuestionList":
    """Questions of a file: our JSONL, or a published benchmark's own file, plain or .gz.

    With `graph`, names and ids that the file leaves out are filled in from it. Raises `UserError`
    that names the file, the record and the field.
    """
    from graphwalker.datasets.base import load_questions
    from graphwalker.datasets.grounding import ground

    questions = load_questions(path, limit, format)
    return QuestionList(questions if graph is None else ground(questions, graph))


class QuestionList(list[Question]):
    """A list of questions with a short `repr` and a table."""

    def __repr__(self) -> str:
        first = "".join(f"\n  {q.text} -> {[a.name for a in q.answers]}" for q in self[:3])
        return number_of(len(self), "question") + first + ("\n  ..." if len(self) > 3 else "")

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each question."""
        import pandas  # pyright: ignore[reportMissingTypeStubs]

        rows = [
            {
                "id": q.id,
                "question": q.text,
                "topic_entities": [entity.name for entity in q.topic_entities],
                "answers": [answer.name for answer in q.answers],
                "structure": q.structure,
                "hops": q.hops,
                "split": q.split,
            }
            for q in self
        ]
        return pandas.DataFrame(rows)


_LINE_EVERY_S = 15.0
"""Where there is no terminal for a progress bar, such as a notebook."""
_FOLDERS: WeakKeyDictionary[Policy, str] = WeakKeyDictionary()
"""The folder of a policy's model, which must be run in its own environment."""


def load_policy(
    model: str,
    environment: Environment | None = None,
    *,
    force_environment: bool = False,
    trust: Sequence[str] = (),
    **settings: Any,
) -> Policy:
    """Return what answers: a model folder, the name of a served model, or a policy without a model.

    `settings` are those of `policy.` in every config: `api={"base_url": ...}`, `format="qwen2.5"`,
    `engine="vllm"`, ... Without a model, `oracle` plays a question's own query and
    `first-relation` takes whatever is listed first; they need the `environment`.

    A model that says what it was trained in is run there alone, in its own format:
    `Environment(graph, model=FOLDER)` is that environment, and with `force_environment` another
    one will do. Its files may name other files where `trust` holds the folder. Raises `UserError`
    for another environment, a folder without a model or an unknown setting.
    """
    from data_pipeline.wording.vocabulary import lexicon_of
    from graphwalker.agents.model_environment import format_of, read_environment
    from graphwalker.agents.policies import load_policy as load
    from graphwalker.oracle.choices import NO_PHRASES
    from graphwalker.policies.config import PolicyConfig
    from graphwalker.pretrained.shipped import folder_of

    model = model if settings.get("api") else folder_of(model)
    own = None if settings.get("api") else read_environment(model)
    if own is not None:
        format = settings.get("format") or format_of(own, model, trust, "policy.format")
        settings = {**settings, "format": format}
    config = parse_config(PolicyConfig, {"model": model, **settings}, f"load_policy({model!r})")
    folder = model if own is not None and not force_environment else None
    if folder and environment is not None:
        _refuse_other(folder, environment)
    phrases = NO_PHRASES
    if model == "oracle" and environment is not None:
        phrases = lexicon_of(environment.graph)
    policy = load(config, environment=environment, phrases=phrases)
    if folder:
        _FOLDERS[policy] = folder
    return policy


def _refuse_other(folder: str | None, environment: Environment) -> None:
    """Raise `UserError` where the model of that folder has another environment."""
    if folder:
        from graphwalker.agents.model_environment import refuse_other_environment

        refuse_other_environment(folder, environment)


def _grounded(questions: Iterable[Question], environment: Environment) -> Iterator[Question]:
    """Yield questions with the ids of topic entities that are names. Raises `UserError` where the
    graph has none of many topic entities."""
    from graphwalker.datasets.grounding import LOOKED_AT, ground, refuse_unknown_topics

    waiting = iter(questions)
    while some := list(islice(waiting, LOOKED_AT)):
        if any(question.topic_entities for question in some):
            some = ground(some, environment.graph)
            refuse_unknown_topics(some, environment.graph, repr(environment.graph))
        yield from some


def rollout(
    questions: Iterable[Question],
    environment: Environment,
    policy: Policy,
    *,
    samples: int = 1,
    temperature: float = 0.0,
    max_tokens: int = 512,
    seed: int = 0,
    concurrency: int = 64,
) -> Iterator[Trajectory]:
    """Run episodes; scored trajectories come in question order, then sample order, as they finish.

    An episode that the graph or the policy failed has `stop.infrastructure_failure` and no scores:
    set it aside. Raises `UserError` for a model in another environment than its own.
    """
    from graphwalker.scoring import score

    _refuse_other(_FOLDERS.get(policy), environment)
    sampling = Sampling(temperature=temperature, max_tokens=max_tokens, seed=seed)
    done = run_episodes(
        _grounded(questions, environment),
        environment,
        policy,
        sampling,
        samples=samples,
        concurrency=concurrency,
    )
    return (t if t.stop.infrastructure_failure else t.with_scores(**score(t)) for t in done)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A finished evaluation: its figures with 95 % intervals, and its trajectories."""

    figures: Mapping[str, Any]
    """`em`, `f1`, `hits1`, ... each with `NAME_interval`; `questions`; `failures` of the
    graph or the policy, which no figure counts; `missing` questions of `questions_total`."""
    trajectories: tuple[Trajectory, ...]
    folder: Path = Path()
    """Its files, as `graphwalker eval` writes them; `save` copies them to a place that stays."""
    _place: TemporaryDirectory[str] | None = None

    @property
    def em(self) -> float:
        """Exact match."""
        return self["em"]

    @property
    def failures(self) -> int:
        """Questions that the graph or the policy failed."""
        return self["failures"]

    def __getitem__(self, figure: str) -> Any:
        if figure not in self.figures:
            raise KeyError(f"{figure}; there are {', '.join(self.figures)}")
        return self.figures[figure]

    def to_pandas(self) -> Any:
        """Return a DataFrame with a row for each question: its answer, gold, end and scores."""
        import pandas  # pyright: ignore[reportMissingTypeStubs]

        rows = [
            {
                "id": t.question.id,
                "question": t.question.text,
                "answer": list(t.answer or ()),
                "gold": [answer.name for answer in t.question.answers],
                "stop": t.stop.value,
                "turns": len(t.turns),
                **t.scores,
            }
            for t in self.trajectories
        ]
        return pandas.DataFrame(rows)

    def save(self, out: str | Path) -> Path:
        """Copy the files of the run to a folder, which `graphwalker compare` and `report` read."""
        return Path(shutil.copytree(self.folder, out, dirs_exist_ok=True))

    def report(self, out: str | Path) -> Path:
        """Write report.html, report.md and report.json to a folder; returns the page."""
        from eval.report.report import StageResult, write_report

        write_report(Path(out), [StageResult("evaluation", self.folder)])
        return Path(out) / "report.html"

    def __repr__(self) -> str:
        if "em" not in self.figures:
            return f"Evaluation(nothing scored, failures={self.figures['failures']})"
        low, high = self.figures["em_interval"]
        lost = self.figures.get("missing", 0)
        missing = f", missing={lost} of {self.figures['questions_total']}" if lost else ""
        return (
            f"Evaluation(questions={self.figures['questions']}, EM={self.figures['em']:.3f} "
            f"[{low:.3f}, {high:.3f}], F1={self.figures['f1']:.3f}, "
            f"failures={self.figures['failures']}{missing})"
        )


def evaluate(
    questions: Iterable[Question],
    environment: Environment,
    policy: Policy,
    out: str | Path | None = None,
    *,
    samples: int = 0,
    max_tokens: int = 512,
    seed: int = 0,
    concurrency: int = 64,
) -> Evaluation:
    """Answer every question greedily (and `samples` times at T = 1, for Pass@k) and sum up.

    With `out`, the run's files stay in that folder, as `graphwalker eval` writes them, and a run
    that was stopped resumes. Raises `UserError` where `out` holds another run, and for a model in
    another environment than its own.
    """
    from eval.analysis.summary import summarise
    from eval.run.evaluate import evaluate as run
    from eval.run.records import read_run
    from graphwalker.console.console import progress

    _refuse_other(_FOLDERS.get(policy), environment)
    place = None if out else TemporaryDirectory()
    with progress("evaluate", _LINE_EVERY_S) as tick:
        folder = run(
            _grounded(questions, environment),
            environment,
            policy,
            Path(out or place.name),  # pyright: ignore[reportOptionalMemberAccess]
            samples=samples,
            seed=seed,
            concurrency=concurrency,
            max_tokens=max_tokens,
            progress=tick,
        )
    done = read_run(folder)
    figures = summarise(done.trajectories, done.samples, failures=len(done.failures), seed=seed)
    return Evaluation({**figures, **done.missing()}, tuple(done.trajectories), folder, place)


def compare(
    first: Evaluation | str | Path, second: Evaluation | str | Path, seed: int = 0
) -> dict[str, Any]:
    """Compare two evaluations of the same questions, or folders and files of any system's
    predictions: figures of both, and paired tests."""
    from eval.analysis.comparison import compare_runs, read_runs

    folders = [one.folder if isinstance(one, Evaluation) else Path(one) for one in (first, second)]
    return compare_runs(read_runs(folders, ["first", "second"]), seed)


def ask(
    text: str, topic: str | Sequence[str], graph: Any, model: str, **settings: Any
) -> Trajectory:
    """Ask a model about entities of a graph, named by `topic`, in the model's own environment.

    `settings` are those of `load_policy`. Raises `UserError` for an unknown name.
    """
    from graphwalker.agents.model_environment import read_environment
    from graphwalker.pretrained.shipped import folder_of
    from graphwalker.serve.ask import ask as ask_agent

    model = model if settings.get("api") else folder_of(model)
    trained = None if settings.get("api") else read_environment(model)
    environment = ScriptEnvironment(graph, model=model if trained else None)
    policy = load_policy(model, environment, **settings)
    return ask_agent(text, [topic] if isinstance(topic, str) else topic, environment, policy)


def train(model: str, data: Sequence[str], out: str = "runs/sft", **settings: Any) -> Path:
    """Fine-tune a model on files of trajectories; returns the folder of the final model.

    `settings` are those of `graphwalker config sft`. A stopped run resumes. Raises `UserError`.
    """
    from training.config import SftConfig
    from training.sft import run_sft

    given = {"model": model, "data": tuple(data), "output_dir": out, **settings}
    return run_sft(parse_config(SftConfig, given, "train()"))


def load_trajectories(path: str | Path) -> list[Trajectory]:
    """Trajectories of a file, such as graphsynth.jsonl or predictions.jsonl, plain or .gz."""
    from graphwalker.files import read_records

    return list(read_records(Path(path), Trajectory.from_json))


def build_graph(path: str | Path, out: str | Path | None = None) -> KnowledgeGraph:
    """Compile a file of triples into the folder `out` and open it; by default into a cache.

    Raises `UserError` for a file that cannot be read, or that can be read in two ways.
    """
    from graphwalker.graphs.build.build import build_graph as build

    if out is None:
        return open_graph(path)
    build([Path(path)], Path(out))
    return open_graph(out)


def ceiling(questions: Iterable[Question], environment: Environment) -> dict[str, Any]:
    """Return how many of these questions anyone could answer in the environment, as shares.

    `gold_relation_listed`, `all_answers_by_gold`, `all_answers_by_any` and `winnable` are explained
    in docs/evaluation.md. The first two are `None` where no question has a query. Raises
    `UserError` for a preset that the oracle cannot play.
    """
    from graphwalker.ceilings.ceiling import ceiling as shares
    from graphwalker.ceilings.ceiling import reaches

    return shares(reaches(_grounded(questions, environment), environment))


def synthesize(
    graph: str | Path, out: str | Path, count: int = 300, seed: int = 0, **settings: Any
) -> list[Trajectory]:
    """Make `count` certified trajectories below the folder `out` and read them back.

    `graph` is what `open_graph` takes: workers open it for themselves. `settings` are those of
    `graphwalker synth` (`mix={"2-hop": 1.0}`, `workers=4`, ...). A stopped run resumes. A graph
    with fewer questions gives those, with a warning. Raises `UserError` for an unknown setting, or
    a folder that holds another run.
    """
    from data_pipeline.config import SynthConfig
    from data_pipeline.synthesize import synthesize as make
    from graphwalker.console.console import progress
    from graphwalker.console.endings import describe_shortage
    from graphwalker.files import read_jsonl

    given = {"count": count, "seed": seed, **settings}
    with progress("synthesize", _LINE_EVERY_S) as tick:
        card = make(graph, parse_config(SynthConfig, given, "synthesize()"), Path(out), tick)
    if shortage := describe_shortage(card):
        warnings.warn(shortage, stacklevel=2)
    records = read_jsonl(Path(out) / "graphsynth.jsonl")
    return [Trajectory.from_json(record) for record in islice(records, count)]
