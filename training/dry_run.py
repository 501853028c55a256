"""A dry run: the data, the model without weights, one batch: checked before anything is trained."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from graphwalker.agents.episode import Episode
from graphwalker.errors import UserError
from graphwalker.pretrained.adapters import base_of
from graphwalker.pretrained.load import read_tokenizer
from graphwalker.tokens.formats import chat_format
from graphwalker.tokens.segments import IGNORED, end_of_turn_id, prompt_ids
from training.config import SftConfig
from training.grpo_config import GrpoConfig
from training.models.shapes import empty_model, model_shape
from training.runs.arguments import checked_fields
from training.runs.environment import (
    check_caps,
    check_evaluation,
    in_its_environment,
    in_their_environment,
    with_format,
)

DryRunFacts = dict[str, Any]


def dry_run(config: SftConfig | GrpoConfig, gpus: int = 1) -> DryRunFacts:
    """Do what a run does before its first step, without weights and without a GPU.

    Returns facts to show. Raises `UserError` for what would stop the run later.
    """
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.sft_config import SFTConfig

    shape, tokenizer = model_shape(base_of(config.model)), read_tokenizer(config.model)
    config = with_format(config, tokenizer)
    model = empty_model(shape)
    if len(tokenizer) > shape.vocab_size:
        raise UserError(
            f"{config.model}: {len(tokenizer):,} tokens in the tokenizer, but only "
            f"{shape.vocab_size:,} in the model"
        )
    end_of_turn_id(chat_format(config.format), tokenizer)  # is the format one of this tokenizer?
    sft = isinstance(config, SftConfig)
    checked_fields(SFTConfig if sft else GRPOConfig, config)
    facts: DryRunFacts = {
        "model": type(model).__name__,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "vocabulary": f"{len(tokenizer):,} tokens, {shape.vocab_size:,} rows in the model",
        **(_sft(config, tokenizer, gpus) if sft else _grpo(config, tokenizer, gpus)),
    }
    if facts["longest"] > shape.max_position_embeddings:
        raise UserError(
            f"{config.model} was made for {shape.max_position_embeddings:,} tokens, and the "
            f"longest row has {facts['longest']:,}"
        )
    return facts


def _sft(config: SftConfig, tokenizer: Any, gpus: int) -> DryRunFacts:
    from training.supervised.batches import Collator, plan_steps
    from training.supervised.rows import read_rows

    with TemporaryDirectory() as folder:
        rows = read_rows(config, tokenizer, Path(folder))
        plan = plan_steps(rows.lengths, config, gpus * config.gradient_accumulation)
        batch = Collator(0)([rows.dataset[row if row >= 0 else ~row] for row in plan[0][0]])
    environment = in_their_environment(config).environment
    check_evaluation(config, rows.longest_turn)
    return {
        **rows.facts(),
        "longest turn": rows.longest_turn,
        "environment": f"{environment.preset}, prompt {environment.prompt}",
        "steps": len(plan),
        "passes per step": f"{gpus} processes x {config.gradient_accumulation}",
        "first pass": _shapes(batch),
        "real tokens in it": int(batch["attention_mask"].sum()),
        "trained tokens in it": int((batch["labels"] != IGNORED).sum()),
    }


def _grpo(config: GrpoConfig, tokenizer: Any, gpus: int) -> DryRunFacts:
    from training.grpo import open_world, question_order

    config = in_its_environment(config)
    check_caps(config)
    everyone, environment = open_world(config)
    questions = {question.id: question for question in everyone}
    fmt, lengths = chat_format(config.format), list[int]()
    for key in question_order(config, everyone)[: config.prompts_per_step]:
        opening = Episode(questions[key], 0, environment).ask
        if opening is not None:
            lengths.append(len(prompt_ids(opening.messages, fmt, tokenizer)))
    if max(lengths) > config.max_prompt_tokens:
        raise UserError(
            f"a prompt of the first step has {max(lengths):,} tokens: raise max_prompt_tokens"
        )
    episodes = config.prompts_per_step * config.samples
    return {
        "questions": len(questions),
        "graph": environment.graph.checksum,
        "steps": config.steps,
        "episodes per step": f"{config.prompts_per_step} x {config.samples} = {episodes:,}",
        "episodes per process": episodes // gpus,
        "prompts of the first step": f"{len(lengths)}, {sum(lengths):,} tokens",
        "longest prompt": max(lengths),
        "longest": max(lengths) + config.max_response_tokens,
        "passes per step": f"{gpus} processes x {episodes // gpus // config.micro_batch}",
    }


def _shapes(batch: dict[str, Any]) -> str:
    return ", ".join(f"{name} {tuple(tensor.shape)}" for name, tensor in batch.items())
