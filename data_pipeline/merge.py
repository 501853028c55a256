"""Merging a job array: `merge` finds what its shards were, and makes the whole run from them."""

from pathlib import Path
from typing import Any

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.jobs.ledger import JobProgress
from data_pipeline.jobs.merge_shards import Shards
from data_pipeline.synthesize import RECIPES, make
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph


def merge(
    graph: Path | str,
    out: Path,
    questions: Path | None = None,
    workers: int = 1,
    progress: JobProgress | None = None,
) -> dict[str, Any]:
    """Make at `out`, from the shards below it, the very files of the run without shards.

    Duplicates across shards and quotas are judged here; an attempt that no shard has tried is made
    now. `questions` is the file that `experts` was given. Returns the data card. Raises `UserError`
    naming the shards that are missing or unfinished, or what does not fit them.
    """
    shards = Shards(out)
    run = shards.run
    if run["graph"]["checksum"] != open_graph(graph).checksum:
        raise UserError(f"{graph} is not the graph that the shards of {out} were made on")
    values = {**run["config"], "workers": workers}
    if run["stage"] in RECIPES:
        config = parse_config(SynthConfig, values, f"{out}, shards")
        return make(graph, config, out, RECIPES[run["stage"]], progress, shards=shards)
    if questions is None:
        raise UserError(f"{out} holds shards of `experts`: give its question file as --questions")
    experts = parse_config(ExpertConfig, values, f"{out}, shards")
    return make_experts(graph, experts, questions, out, progress, shards=shards)
