"""GRPO in the environment: TRL's trainer on whole episodes, the reward is the answer's.

accelerate launch training/grpo.py --config configs/grpo.yaml output_dir=runs/grpo lr=2e-6
"""

import logging
import os
import random
import sys
from functools import partial
from pathlib import Path
from typing import Any

from graphwalker.agents.environment import Environment
from graphwalker.agents.exemplars import run_exemplars
from graphwalker.agents.policies import refuse_without_model
from graphwalker.ceilings.ceiling import winnable_questions
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import refuse_unknown_topics, settle
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph
from graphwalker.pretrained.load import read_tokenizer
from graphwalker.question import Question
from graphwalker.runs import one_writer
from graphwalker.tokens.formats import chat_format
from training.grpo_config import GrpoConfig
from training.models.lora import check_start
from training.runs.checkpoints import digests, last_checkpoint
from training.runs.command import run_command
from training.runs.distributed import check_layout, rank
from training.runs.environment import (
    check_caps,
    in_its_environment,
    with_format,
    with_local_files,
    write_run_environment,
)
from training.runs.resuming import claim_run, record_length

log = logging.getLogger(__name__)

FREE_KEYS = (
    "allow_cpu",
    "ddp_timeout_s",
    "engine_batch",
    "force_environment",
    "keep_checkpoints",
    "limit_steps",
    "max_failed",
    "max_kl",
    "max_mismatch",
    "max_seconds",
    "micro_batch",
    "min_answered",
    "min_entropy",
    "min_valid_actions",
    "report_to",
    "save_steps",
    "steps",
    "trust",
    "vllm",
)
"""Settings that may differ when a run resumes."""


@one_writer("config.output_dir")
def run_grpo(config: GrpoConfig) -> Path:
    """Train, or resume where a killed run stopped; returns the folder of the final model.

    A finished run is left as it is. Raises `UserError` for a folder made with another config or
    other data, and for a cap below the longest turn that the model was shown, `CollapseError` when
    the monitor's limits are passed, and `OutageError` for too many infrastructure failures in a
    step.
    """
    from transformers.utils.logging import disable_progress_bar

    from training.rewards.mix import reward_mix
    from training.runs.stopping import train

    disable_progress_bar()  # "Loading weights": ours is the only bar
    check_layout()
    config, out = in_its_environment(with_local_files(config)), Path(config.output_dir)
    reward_mix(config.rewards)  # a misspelt reward must not claim the folder
    questions, environment = open_world(config)
    if not (out / "config.yaml").is_file():  # one that was begun with lower caps ends as it began
        check_caps(config)
    if claim_run(config, _inputs(config, environment), FREE_KEYS):
        return out / "final"
    tokenizer = read_tokenizer(config.model, padding_side="left")
    config = with_format(config, tokenizer)
    if rank() == 0:
        write_run_environment(config)
    start = last_checkpoint(out)
    trainer = make_trainer(config, questions, environment, start)
    train(trainer, start, config.iterations)
    final = _final(config, trainer, out)
    record_length(config, FREE_KEYS)
    return final


def _final(config: GrpoConfig, trainer: Any, out: Path) -> Path:
    """Return the best model on dev questions where it is asked for, else the last one."""
    from training.runs.saving import save_final

    best = trainer.evaluation and trainer.evaluation.best
    if config.evaluation and config.evaluation.choose_best and best and best.has_model:
        log.info("the final model is that of step %d, with %.3f", best.step, best.score)
        return best.as_final(trainer)
    return save_final(trainer, out)


def make_trainer(
    config: GrpoConfig, questions: list[Question], environment: Environment, start: int = 0
) -> Any:
    """Return the trainer of that config, to resume after step `start`."""
    from transformers import PrinterCallback

    from training.models.loading import load_policy, load_reference
    from training.models.lora import new_adapter
    from training.reinforce.arguments import trl_arguments
    from training.reinforce.log import Clock, StepLog
    from training.reinforce.rollout import Rollouts
    from training.reinforce.trainer import EpisodeTrainer
    from training.rewards.mix import episode_reward
    from training.tiny.optimizer import own_optimizer

    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    arguments = trl_arguments(config)
    tokenizer = read_tokenizer(config.model, padding_side="left")
    config = with_format(config, tokenizer)
    record = StepLog(config, start, writes=rank() == 0)
    rollouts = Rollouts(config, questions, environment, chat_format(config.format))
    trainer = EpisodeTrainer(
        rollouts,
        record,
        config.keep_checkpoints,
        partial(load_reference, config.model, config.dtype),
        model=load_policy(config.model, config.dtype),
        reward_funcs=episode_reward,
        args=arguments,
        train_dataset=question_rows(config, questions),
        processing_class=tokenizer,
        callbacks=[Clock(record, config.max_seconds)],
        peft_config=new_adapter(config),
    )
    trainer.remove_callback(PrinterCallback)
    add_parts(trainer, config, environment)
    trainer.optimizer_of = partial(own_optimizer, config=config, muon=False)
    return trainer


def add_parts(trainer: Any, config: GrpoConfig, environment: Environment) -> None:
    """Replay and evaluation, where the config asks for them."""
    from training.evaluation.callback import RolloutEvaluation
    from training.evaluation.dev_set import DevSet, dev_questions
    from training.supervised.replay import Replay
    from training.supervised.rows import Demonstrations

    tokenizer = trainer.processing_class
    if config.replay:
        files = Demonstrations(config.replay.data, config.format, config.max_context)
        rows, weight = config.replay.rows, config.replay.weight
        cache = Path(config.output_dir) / "rows"
        trainer.replay = Replay.read(files, rows, weight, tokenizer, config.seed, cache)
    if settings := config.evaluation:
        dev_set = DevSet(
            dev_questions(settings.questions, settings.limit),
            environment,
            chat_format(config.format),
            tokenizer,
            max_turn_tokens=config.max_turn_tokens,
            max_context=config.max_context,
            batch_size=config.engine_batch,
            samples=settings.samples,
            temperature=config.temperature,
            seed=config.seed,
        )
        trainer.evaluation = RolloutEvaluation(
            Path(config.output_dir),
            dev_set,
            settings.every_steps,
            choose_by=settings.choose_by,
            at_start=True,
            patience=settings.patience,
        )
        trainer.evaluation.trainer = trainer
        trainer.add_callback(trainer.evaluation)


def question_rows(config: GrpoConfig, questions: list[Question]) -> Any:
    """Return the questions of all batches as a `datasets.Dataset`; a `prompt` is the id of one."""
    from datasets import Dataset

    by_id = {question.id: question for question in questions}
    columns = {
        "prompt": list(by_id),
        "question": [question.text for question in by_id.values()],
        "topics": [[topic.name for topic in q.topic_entities] for q in by_id.values()],
        "answers": [[answer.name for answer in q.answers] for q in by_id.values()],
    }
    place = {key: number for number, key in enumerate(by_id)}
    order = [place[key] for key in question_order(config, questions)]
    return Dataset.from_dict(columns).select(order)


def question_order(config: GrpoConfig, questions: list[Question]) -> list[str]:
    """Return the question ids of all batches of episodes, no question twice in a batch.

    One list instead of TRL's shuffle, which a resumed run would begin anew in its second epoch.
    """
    rng = random.Random(config.seed)
    whole = config.steps // config.iterations * config.prompts_per_step
    order: list[str] = []
    per_round = len(questions) - len(questions) % config.prompts_per_step
    while len(order) < whole:
        order += rng.sample([question.id for question in questions], per_round)
    return order[:whole]


def open_world(config: GrpoConfig) -> tuple[list[Question], Environment]:
    """Return the questions of a run and the environment over its graph. Raises `UserError`."""
    from training.evaluation.dev_set import dev_questions

    questions = load_questions(config.questions)
    _enough(questions, config)
    refuse_without_model(config.model, "model")
    check_start(config)
    _check_files(config, questions)
    graph = open_graph(config.graph, wikidata=config.environment.layers.wikidata)
    shown = run_exemplars(Path(config.output_dir), graph, config.environment)
    environment = Environment(graph, config.environment, exemplars=shown)
    out = Path(config.output_dir)
    questions = settle(questions, environment.graph, out, config.unresolved)
    refuse_unknown_topics(questions, environment.graph, config.graph)
    if config.evaluation:
        dev = dev_questions(config.evaluation.questions, config.evaluation.limit)
        refuse_unknown_topics(dev, environment.graph, f"{config.graph} (evaluation.questions)")
    if config.winnable:
        questions = winnable_questions(questions, environment, config.questions)
        _enough(questions, config)
    return questions, environment


def _check_files(config: GrpoConfig, questions: list[Question]) -> None:
    """Raise `UserError` for files of `replay` and `evaluation` that cannot be read."""
    from training.evaluation.dev_set import dev_questions

    for name, path in demonstration_files(config):
        if not Path(path).is_file():
            raise UserError(f"{name.partition('[')[0]}: {path}: no such trajectory file")
    if config.evaluation:
        mine = {question.text.casefold() for question in questions}
        dev = dev_questions(config.evaluation.questions, config.evaluation.limit)
        if shared := sum(question.text.casefold() in mine for question in dev):
            log.warning(
                "WARNING: evaluation.questions: %d of %d are training questions, so they do not "
                "say what was learned", shared, len(dev),
            )  # fmt: skip


def demonstration_files(config: GrpoConfig) -> list[tuple[str, str]]:
    """Return the trajectory files of a run, each by its place in the config."""
    files = config.replay.data if config.replay else ()
    return [(f"replay.data[{number}]", path) for number, path in enumerate(files)]


def _enough(questions: list[Question], config: GrpoConfig) -> None:
    if len(questions) < config.prompts_per_step:
        kind = "winnable questions" if config.winnable else "questions"
        raise UserError(
            f"{config.questions}: {len(questions)} {kind} are fewer than prompts_per_step = "
            f"{config.prompts_per_step}; add questions or lower it"
        )


def _inputs(config: GrpoConfig, environment: Environment) -> dict[str, str]:
    files = {"questions": config.questions}
    if config.evaluation:
        files["evaluation.questions"] = config.evaluation.questions
    facts = digests(files | dict(demonstration_files(config)), config.model)
    about = environment.provenance
    facts |= {"environment.ranker": about["ranker_digest"]} if "ranker_digest" in about else {}
    facts |= {"environment.tools": about["tools"]} if "tools" in about else {}
    return facts | {"graph": environment.graph.checksum}


if __name__ == "__main__":
    sys.exit(run_command("training/grpo.py", GrpoConfig, run_grpo))
