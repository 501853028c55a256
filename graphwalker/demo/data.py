"""The data of the road: world, GraphSynth, question sets, GraphRoll."""

from collections.abc import Iterable
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import Config, parse_config, write_config
from graphwalker.console import console
from graphwalker.console.endings import show_shortage
from graphwalker.demo.config import DemoConfig, Settings
from graphwalker.demo.stages import Stage, StageTimes
from graphwalker.errors import UserError
from graphwalker.files import read_records
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.browse import shown_relations
from graphwalker.trajectory import Trajectory

if TYPE_CHECKING:
    from training.tiny.config import TinyModelConfig

TEXTS = 2000
"""Trajectories that the tokenizer learns its words from."""


def make_tiny_model(
    config: "TinyModelConfig",
    corpus: Path,
    graph: KnowledgeGraph,
    out: Path,
    environment: EnvironmentConfig | None = None,
    texts: Iterable[str] = (),
) -> Path:
    """Write the model to the folder `out`, unless it is there. Its tokenizer learns the words of
    the trajectories in `corpus`, of `texts` and of the graph's names."""
    from training.tiny.make import conversation_texts, make_tiny

    shown = islice(read_records(corpus, Trajectory.from_json), TEXTS)
    names = (graph.entity_at(number).name for number in range(graph.size))
    words = chain(conversation_texts(shown), texts)
    relations = shown_relations(graph)
    return make_tiny(config, words, relations, out, names, environment)


C = TypeVar("C", bound=Config)
ENTITIES = 3000
"""Named entities of the fictional world."""
SEEDS = 10
"""Seeds that the sections of one run may use."""
QUESTIONS = "rl", "practice", "test", "test_words"


class DemoData:
    """The files of a run folder, and the stages that make them."""

    def __init__(self, config: DemoConfig) -> None:
        self.config, self.out = config, Path(config.run)
        self.graph, self.model = config.graph, config.model
        self.test_file = Path(str(config.eval.get("questions", "")))
        self.times = StageTimes(self.out)

    def check_questions(self) -> None:
        """Question files from elsewhere can be read, and GRPO trains on none of a benchmark's.

        Raises `UserError` before anything is made.
        """
        from graphwalker.datasets.base import load_questions

        tests = {name: load_questions(path) for name, path in self.config.benchmarks.items()}
        mine = Path(str(self.config.grpo.get("questions", "")))
        own = mine.is_file() and tests
        trained = {q.text.casefold() for q in load_questions(mine)} if own else set[str]()
        for name, questions in tests.items():
            shared = [q.text for q in questions if q.text.casefold() in trained]
            if shared:
                raise UserError(
                    f"grpo.questions={mine}: benchmarks.{name} has {len(shared)} of its questions, "
                    f"such as {shared[0]!r}; train on others"
                )

    def make_data(self) -> None:
        """Everything that training and evaluation read."""
        write_config(self.config, self.out)
        world = Path(self.graph)
        if self._is_own(world) and not world.exists():
            self.times.run(Stage("world", self._make_world))
        self.times.run(Stage("GraphSynth", self._synthesize))
        for name in QUESTIONS:
            if self.section(name):
                self.times.run(Stage(f"questions, {name}", partial(self._make_questions, name)))
        self.times.run(Stage("GraphRoll", self._make_roll))
        self._merge_tests()

    def section(self, name: str) -> Settings:
        """Return the settings of a section, with the seed of this run."""
        values: Settings = dict(getattr(self.config, name))
        if "seed" in values:
            values["seed"] += SEEDS * self.config.seed
        return values

    def parse_section(self, model: type[C], name: str, values: Settings | None = None) -> C:
        """Return a section as its stage reads it. Raises `UserError` for the first mistake."""
        values = self.section(name) if values is None else values
        places = {"graph", "output_dir", "questions"} - set(model.model_fields)
        own = {key: value for key, value in values.items() if key not in places}
        return parse_config(model, own, f"the road's section {name}")

    def _is_own(self, path: Path) -> bool:
        """Whether the path lies inside the run."""
        return self.out.resolve() in path.resolve().parents

    def _place(self, name: str, key: str = "output_dir") -> Path:
        if not (value := self.section(name).get(key)):
            raise UserError(f"the road's section {name} has no {key}; see configs/demo.yaml")
        return Path(value)

    def _make_world(self, _: console.ProgressTick) -> None:
        from graphwalker.world.generate import make_world

        make_world(ENTITIES, self.config.seed, Path(self.graph).parent)

    def _synthesize(self, tick: console.ProgressTick) -> None:
        from data_pipeline.config import SynthConfig
        from data_pipeline.synthesize import synthesize

        config = self.parse_section(SynthConfig, "synth")
        show_shortage(synthesize(self.graph, config, self._place("synth"), tick))

    def _make_questions(self, name: str, tick: console.ProgressTick) -> None:
        from data_pipeline.config import SynthConfig
        from data_pipeline.synthesize import make_questions

        config = self.parse_section(SynthConfig, name)
        show_shortage(make_questions(self.graph, config, self._place(name), tick))

    def _make_roll(self, tick: console.ProgressTick) -> None:
        from data_pipeline.config import ExpertConfig
        from data_pipeline.experts.experts import make_experts

        config = self.parse_section(ExpertConfig, "experts")
        questions, out = self._place("experts", "questions"), self._place("experts")
        make_experts(self.graph, config, questions, out, tick)

    def _merge_tests(self) -> None:
        """One test file, checked against the training questions for leakage."""
        from data_pipeline.splits import check_leakage
        from graphwalker.datasets.base import load_questions
        from graphwalker.files import write_jsonl

        train: list[Any] = []
        for name in ("synth", "rl", "practice"):
            if self.section(name):
                train += load_questions(self._place(name) / "questions.jsonl")
        texts = {question.text.casefold() for question in train}
        test = [
            question
            for name in ("test", "test_words")
            if self.section(name)
            for question in load_questions(self._place(name) / "questions.jsonl")
            if question.text.casefold() not in texts  # of a namesake of its topic
        ]
        check_leakage(train, test)
        write_jsonl(self.test_file, [question.to_json() for question in test])
