"""RFT: the model's own right episodes become its training data.

python training/rft.py --config configs/rft.yaml output_dir=runs/rft
"""

import logging
import sys
from pathlib import Path

from graphwalker.agents.environment import Environment
from graphwalker.agents.exemplars import run_exemplars
from graphwalker.ceilings.ceiling import winnable_questions
from graphwalker.datasets.base import load_questions
from graphwalker.datasets.grounding import refuse_unknown_topics
from graphwalker.errors import UserError
from graphwalker.files import write_json
from graphwalker.graphs.open import open_graph
from graphwalker.policies.base import Policy, Sampling
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy, refuse_without_model
from graphwalker.question import Question
from graphwalker.runs import one_writer
from training.config import RftConfig, SftConfig
from training.models.lora import refuse_adapter
from training.reinforce.rejection import OWN, DrawRules, draw
from training.runs.checkpoints import digests
from training.runs.command import run_command
from training.runs.distributed import check_layout, processes, rank
from training.runs.environment import in_its_environment, with_local_files
from training.runs.resuming import claim_run, record_length
from training.sft import FREE_KEYS as SFT_FREE_KEYS
from training.sft import run_sft

log = logging.getLogger(__name__)

FREE_KEYS = (*SFT_FREE_KEYS, "draw_only", "engine_batch", "vllm")
"""Settings that may differ when a run resumes."""


@one_writer("config.output_dir")
def run_rft(config: RftConfig) -> Path:
    """Draw, keep, train; or resume where a killed run stopped. Returns the folder of the model,
    with `draw_only` the file of the successes.

    Raises `UserError` for a folder made with another config or other data, and where no episode
    was right; `DrawError` when the graph or the engine fails.
    """
    check_layout()
    config = in_its_environment(with_local_files(config))
    questions, environment = _open(config)
    out = Path(config.output_dir)
    if claim_run(config, _inputs(config, environment), FREE_KEYS):
        return out / "final"
    _draw(config, questions, environment, out)
    if config.draw_only:
        return out / OWN
    run_sft(sft_of(config))
    if rank() == 0:
        link = out / "final"
        link.unlink(missing_ok=True)
        link.symlink_to(Path("sft", "final"))
    record_length(config, FREE_KEYS)
    return out / "final"


def sft_of(config: RftConfig) -> SftConfig:
    """The fine-tuning on `data` and the successes, in the subfolder `sft/`."""
    out = Path(config.output_dir)
    values = {name: getattr(config, name) for name in SftConfig.model_fields}
    files = (*config.data, str(out / OWN))
    return SftConfig(**{**values, "data": files, "output_dir": str(out / "sft")})


def _draw(
    config: RftConfig, questions: list[Question], environment: Environment, out: Path
) -> None:
    if processes() > 1:
        if not (out / "rft.json").is_file():
            raise UserError(
                f"{out}: episodes are drawn by one process: run `python -m training.rft` with "
                "draw_only=true first, then this command"
            )
        return
    rules = DrawRules(
        Sampling(config.temperature, max_tokens=config.max_turn_tokens, seed=config.seed),
        config.samples,
        config.keep_per_question,
        config.grounded,
        config.engine_batch,
    )
    counts = draw(questions, environment, lambda: _policy(config), rules, out)
    log.info("%s", ", ".join(f"{name} {count:,}" for name, count in counts.items()))
    if not counts["kept"]:
        raise UserError(
            f"{out}: none of the {counts['episodes']} episodes is a success ({counts['right']} are "
            "right): draw more (samples), take easier questions, or set grounded=false"
        )
    write_json(out / "rft.json", counts)


def _policy(config: RftConfig) -> Policy:
    return load_policy(
        PolicyConfig(
            model=config.model,
            format=config.format,
            batch_size=config.engine_batch,
            max_context=config.max_length,
            engine=config.engine,
            vllm=config.vllm,
        )
    )


def _open(config: RftConfig) -> tuple[list[Question], Environment]:
    refuse_without_model(config.model, "model")
    refuse_adapter(config.model)
    questions = load_questions(config.questions, config.limit or None)
    wikidata = config.environment.layers.wikidata
    graph = open_graph(config.graph, wikidata=wikidata)
    shown = run_exemplars(Path(config.output_dir), graph, config.environment)
    environment = Environment(graph, config.environment, exemplars=shown)
    refuse_unknown_topics(questions, environment.graph, config.graph)
    if config.winnable:
        questions = winnable_questions(questions, environment, config.questions)
    return questions, environment


def _inputs(config: RftConfig, environment: Environment) -> dict[str, str]:
    for path in config.data:
        if not Path(path).is_file():
            raise UserError(f"data: {path}: no such trajectory file")
    files = {f"data[{number}]": path for number, path in enumerate(config.data)}
    facts = digests({"questions": config.questions, **files}, config.model)
    return facts | {"graph": environment.graph.checksum}


if __name__ == "__main__":
    sys.exit(run_command("training/rft.py", RftConfig, run_rft))
