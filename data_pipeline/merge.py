"""Merging a job array: `merge` finds what its shards were, and makes the whole run from them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.jobs.ledger import RUN, JobProgress
from data_pipeline.jobs.shards import Shards
from data_pipeline.synthesize import RECIPES, make
from graphwalker.config import parse_config
from graphwalker.errors import UserError
from graphwalker.graphs.open import open_graph
from graphwalker.trust import check_trust


def merge(
    graph: Path | str,
    out: Path,
    questions: Path | None = None,
    workers: int = 1,
    progress: JobProgress | None = None,
    trust: Sequence[str] = (),
) -> dict[str, Any]:
    """Make at `out`, from the shards below it, the very files of the run without shards.

    Duplicates across shards and quotas are judged here; an attempt that no shard has tried is made
    now. `questions` is the file that `experts` was given. Returns the data card. Raises `UserError`
    naming the shards that are missing or unfinished, or what does not fit them, and for names that
    the shards may not choose, unless they lie in a folder of `trust` (`graphwalker.trust`).
    """
    shards = Shards(out)
    run = shards.run
    if run["graph"]["checksum"] != open_graph(graph).checksum:
        raise UserError(f"{graph} is not the graph that the shards of {out} were made on")
    is_experts = run["stage"] not in RECIPES
    kind = ExpertConfig if is_experts else SynthConfig
    # An attempt that no shard has tried is made now, by whatever these settings name.
    safe = check_trust(kind, run["config"], shards.folders[0] / RUN, trust=trust)
    values = {**safe, "workers": workers}
    if not is_experts:
        config = parse_config(SynthConfig, values, f"{out}, shards")
        return make(graph, config, out, progress, recipe=RECIPES[run["stage"]], shards=shards)
    if questions is None:
        raise UserError(f"{out} holds shards of `experts`: give its question file as --questions")
    experts = parse_config(ExpertConfig, values, f"{out}, shards")
    return make_experts(graph, experts, questions, out, progress, shards=shards)
