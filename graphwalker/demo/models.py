"""The config models by name, and those of commands that run one agent."""

from pydantic import Field

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import Config
from graphwalker.policies.config import PolicyConfig
from graphwalker.trust import TrustedFolders


class InEnvironment(Config):
    """A command that needs an environment's settings."""

    environment: EnvironmentConfig = EnvironmentConfig()
    """Tools, limits and prompt. What is not set is as its model was trained."""
    trust: TrustedFolders = ()
    """Folders of models and data whose files may name code, paths, addresses and variables
    (`docs/threat-model.md`). What they name is told before it is used."""


class AskConfig(InEnvironment):
    """`graphwalker ask` and `serve`: one agent on one graph."""

    graph: str
    """What the agent walks: a compiled graph, a SPARQL endpoint, a recording, module:FACTORY."""
    policy: PolicyConfig
    """The model that answers."""
    max_tokens: int = Field(default=512, ge=1)
    """Completion tokens per turn."""
    force_environment: bool = False
    """Run the model in another preset than the one that it was trained for."""


class McpConfig(InEnvironment):
    """`graphwalker mcp`: the tools of a preset over a graph."""

    graph: str
    """The graph: a compiled graph, a SPARQL endpoint, a recording, module:FACTORY."""


class EnvConfig(McpConfig):
    """`graphwalker env serve`: episodes of questions over a graph."""

    questions: str
    """The questions: our JSONL, or a published file."""


class CeilingConfig(InEnvironment):
    """`graphwalker ceiling`: questions in an environment."""

    questions_format: str = "auto"
    """The dataset's name where the file does not show it (`graphwalker dataset list`)."""
    limit: int = Field(default=0, ge=0)
    """Number of questions to use, from the start of the file. 0: all."""


def config_models() -> dict[str, type[Config]]:
    """Return every config of a command or a training script, by its name."""
    from data_pipeline.config import BenchConfig, ExpertConfig, SynthConfig
    from data_pipeline.teacher.config import JudgeConfig, TeacherConfig
    from eval.run.config import EvalConfig
    from eval.score.judge import AnswerJudgeConfig
    from graphwalker.demo.config import DemoConfig
    from graphwalker.graphs.views.settings import GraphLayers
    from graphwalker.jobs.road import JobsConfig
    from graphwalker.policies.chat.config import ChatApiConfig
    from graphwalker.policies.vllm.config import VllmConfig
    from graphwalker.ranking.chat import RerankerConfig
    from training.config import EvaluationSettings, LoraSettings, SftConfig
    from training.grpo_config import GrpoConfig
    from training.tiny.config import TinyModelConfig

    blocks: tuple[type[Config], ...] = (
        EnvironmentConfig, GraphLayers, PolicyConfig, ChatApiConfig, VllmConfig, RerankerConfig,
        TeacherConfig, JudgeConfig, LoraSettings, EvaluationSettings,
    )  # fmt: skip
    return {
        "synth": SynthConfig,
        "walk": SynthConfig,
        "questions": SynthConfig,
        "filter": SynthConfig,
        "experts": ExpertConfig,
        "bench": BenchConfig,
        "model": TinyModelConfig,
        "sft": SftConfig,
        "grpo": GrpoConfig,
        "eval": EvalConfig,
        "judge": AnswerJudgeConfig,
        "ask": AskConfig,
        "serve": AskConfig,
        "ceiling": CeilingConfig,
        "mcp": McpConfig,
        "env": EnvConfig,
        "demo": DemoConfig,
        "jobs": JobsConfig,
        **{block.block: block for block in blocks},
    }
