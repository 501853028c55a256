"""The config models by name, and those of commands that run one agent."""

from pydantic import Field

from graphwalker.agents.environment import EnvironmentConfig
from graphwalker.config import Config
from graphwalker.policies.config import PolicyConfig

NAMES = (
    "environment", "synth", "experts", "bench", "model", "sft", "grpo", "eval", "ask", "demo",
)  # fmt: skip


class InEnvironment(Config):
    """A command that needs an environment's settings."""

    renamed = {name: f"environment.{name}" for name in EnvironmentConfig.model_fields}

    environment: EnvironmentConfig = EnvironmentConfig()
    """Tools, limits and prompt. What is not set is as its model was trained."""


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


def config_model(name: str) -> type[Config]:
    """The config model of that name, one of `NAMES`."""
    match name:
        case "environment":
            return EnvironmentConfig
        case "synth" | "experts" | "bench":
            from data_pipeline.config import BenchConfig, ExpertConfig, SynthConfig

            return {"synth": SynthConfig, "experts": ExpertConfig, "bench": BenchConfig}[name]
        case "model" | "sft":
            from training.config import SftConfig, TinyModelConfig

            return TinyModelConfig if name == "model" else SftConfig
        case "grpo":
            from training.grpo_config import GrpoConfig

            return GrpoConfig
        case "eval":
            from eval.run.config import EvalConfig

            return EvalConfig
        case "demo":
            from graphwalker.pipeline import DemoConfig

            return DemoConfig
        case _:
            return AskConfig
