"""Policies from settings: the model loaded, its server found, or one that needs no model."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphwalker.errors import UserError, nearest
from graphwalker.oracle.baselines import BASELINES, FirstRelation, LinearRelation
from graphwalker.oracle.choices import NO_PHRASES, Phrases
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.oracle.plan import OwnOracle, has_query
from graphwalker.policies.base import Policy
from graphwalker.policies.config import PolicyConfig, policy_name
from graphwalker.pretrained.shipped import NAMES
from graphwalker.question import Question
from graphwalker.ranking.load import is_learned

if TYPE_CHECKING:
    from graphwalker.agents.environment import Environment


def _oracle(config: PolicyConfig, world: "Environment", phrases: Phrases) -> Policy:
    if world.oracle is not None:
        return world.oracle.make(world)
    return OraclePolicy(
        world.graph,
        world.protocol,
        plain=config.thoughts == "plain",
        speaker=world.speaker,
        silent=config.thoughts == "none",
        phrases=phrases,
    )


def _baseline(
    kind: type[FirstRelation], config: PolicyConfig, world: "Environment", phrases: Phrases
) -> Policy:
    if world.speaker is None:
        raise UserError(
            f"policy.model={config.model} takes a relation that a call lists, and the preset "
            f"{world.name} has no such call; give another preset, such as graphwalker or kg-r1"
        )
    if kind is LinearRelation and not is_learned(world.ranker):
        raise UserError(
            "policy.model=linear takes what a trained ranker puts first: set environment.ranker "
            "to a folder of `graphwalker ranker train`"
        )
    return kind(world.graph, world.protocol, world.speaker, world.config.max_turns)


WITHOUT_MODEL: Mapping[str, Callable[[PolicyConfig, "Environment", Phrases], Policy]] = {
    "oracle": _oracle,
    **{name: partial(_baseline, kind) for name, kind in BASELINES.items()},
}
"""What `policy.model` may name besides models: `oracle` plays the query of each question, the
baselines take a relation by a fixed rule."""


def refuse_without_model(model: str, where: str) -> None:
    """Raise `UserError` for a policy without a model, where only a model will do, and for a folder
    that is not there."""
    if model in WITHOUT_MODEL:
        raise UserError(f"{where}: {model} is a policy without a model; give a model's folder")
    is_path = model.startswith((".", "/", "~")) or model.count("/") != 1
    if is_path and not Path(model).is_dir():
        raise UserError(f"{where}: {model}: no such folder (a Hub name reads owner/name)")


def check_questions(
    config: PolicyConfig, questions: Iterable[Question], own: OwnOracle | None = None
) -> None:
    """Raise `UserError` where the oracle is to play a question that does not say what it asks;
    `own` is the preset's oracle, where it has one of its own."""
    if config.api is None and config.model == "oracle":
        plays = own.plays if own else has_query
        without = [question.id for question in questions if not plays(question)]
        more = f", like {len(without) - 1:,} others" if len(without) > 1 else ""
        if without and own:
            raise UserError(
                f"policy.model=oracle: {without[0]} has no {own.needs.removeprefix('a ')}"
                f"{more}: give questions with {own.needs}, or another policy"
            )
        if without:
            raise UserError(
                f"policy.model=oracle plays a question's query; {without[0]} has none"
                f"{more}: give questions with queries, or another policy; "
                "`graphwalker dataset resolve --with-query` makes queries of gold relation paths"
            )


def load_policy(
    config: PolicyConfig,
    folder: Path | None = None,
    *,
    worker: int = 0,
    environment: "Environment | None" = None,
    phrases: Phrases = NO_PHRASES,
) -> Policy:
    """Return the policy, ready. In `folder` an API keeps answers and costs: its caps hold over
    resumes; `worker` numbers the processes that share a machine's GPUs; `environment` is for the
    policies of `WITHOUT_MODEL`, which play in it; `phrases` are the words of the oracle's thoughts.

    Raises `UserError` for a folder that holds no model.
    """
    if config.api is None and config.model in WITHOUT_MODEL:
        if environment is None:
            raise UserError(f"{config.model} plays in an environment, and none is given")
        return WITHOUT_MODEL[config.model](config, environment, phrases)
    if config.api is not None:
        from graphwalker.policies.chat.policy import ChatPolicy

        return ChatPolicy(config.model, config.api, folder)
    _refuse_missing(config.model)
    if config.engine != "transformers":
        from graphwalker.policies.vllm.load import load_vllm

        return load_vllm(config, policy_name(config))
    from graphwalker.pretrained.load import check_pretrained, read_model, read_tokenizer

    check_pretrained(config.model, force_base=config.force_base)  # before the slow imports

    import torch

    from graphwalker.policies.local.policy import TransformersPolicy
    from graphwalker.tokens.auto import resolve_format
    from graphwalker.tokens.formats import chat_format

    device = config.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda":
        device = f"cuda:{worker % torch.cuda.device_count()}"
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    tokenizer = read_tokenizer(config.model)
    fmt = chat_format(resolve_format(config.format, tokenizer, config.model))
    model = read_model(config.model, force_base=config.force_base, dtype=dtype)
    return TransformersPolicy(
        model.to(device).eval(),
        tokenizer,
        fmt,
        batch_size=config.batch_size,
        max_context=config.max_context or None,
        name=policy_name(config),
    )


def _refuse_missing(model: str) -> None:
    """Raise `UserError` for a folder that is not there, and for a name that is all but ours."""
    if not model:
        raise UserError("policy.model is empty: give --model")
    if Path(model).exists():
        return
    if close := nearest(model, (*WITHOUT_MODEL, *NAMES)):
        raise UserError(f"{model}: no such model folder (did you mean {close}?)")
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise UserError(f"{model}: no such model folder")
