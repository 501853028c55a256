"""Settings of an evaluation: which questions, over which graph, by which policy."""

from pathlib import Path

from pydantic import Field

from eval.run import Progress, evaluate
from graphwalker.agents.presets import Environment, EnvironmentConfig
from graphwalker.benchmarks.base import load_questions
from graphwalker.config import Config
from graphwalker.graphs.compiled import open_graph
from graphwalker.policies.load import PolicyConfig, load_policy, weights_checksum


class EvalConfig(Config):
    """`graphwalker eval`: run an agent on a file of questions and score it."""

    graph: str
    """The compiled graph that the agent walks."""
    questions: str
    """Questions as JSONL, plain or .gz."""
    output_dir: str
    """Where predictions.jsonl and samples.jsonl go; the same command again goes on."""
    policy: PolicyConfig
    """The model under test."""
    environment: EnvironmentConfig = EnvironmentConfig()
    """Tools, limits and prompt: those of the training data, or the scores mean little."""
    limit: int = Field(default=0, ge=0)
    """Use the first so many questions. 0: all."""
    samples: int = Field(default=0, ge=0)
    """Sampled episodes per question for Pass@k, besides the greedy one."""
    sampled_questions: int = Field(default=0, ge=0)
    """Sample for this many questions only, evenly spread over the file. 0: for all."""
    temperature: float = Field(default=1.0, gt=0)
    """Of the sampled episodes."""
    max_tokens: int = Field(default=512, ge=1)
    """Completion tokens per turn."""
    concurrency: int = Field(default=256, ge=1)
    """Episodes under way at once."""
    seed: int = 0
    """Of sampling and of the bootstrap."""


def run_eval(config: EvalConfig, progress: Progress | None = None) -> Path:
    """Evaluate as the config says; returns the folder of the run."""
    questions = load_questions(config.questions, config.limit or None)
    environment = Environment(open_graph(Path(config.graph)), config.environment)
    return evaluate(
        questions,
        environment,
        load_policy(config.policy),
        Path(config.output_dir),
        samples=config.samples,
        sampled_questions=config.sampled_questions,
        temperature=config.temperature,
        seed=config.seed,
        concurrency=config.concurrency,
        max_tokens=config.max_tokens,
        identity={"weights": weights_checksum(config.policy.model)},
        progress=progress,
    )
