"""What a resumed run takes from its settings, and not from the checkpoint."""

import json
import logging
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

log = logging.getLogger(__name__)


class NewSettings(TrainerCallback):
    """Where a run resumes, what the settings say now counts, not what the checkpoint was made with.

    transformers takes the intervals from the checkpoint, and the optimizer's next learning rate,
    which a schedule of another length would not have.
    """

    def on_train_begin(
        self, args: Any, state: TrainerState, control: TrainerControl, **more: Any
    ) -> None:
        if not state.global_step:
            return
        state.compute_steps(args, state.max_steps)
        checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        before = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
        if before["max_steps"] == state.max_steps:
            return
        log.info("the run has %d steps now, not %d", state.max_steps, before["max_steps"])
        schedule = getattr(more["lr_scheduler"], "scheduler", more["lr_scheduler"])
        if hasattr(schedule, "lr_lambdas"):
            pairs = zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)
            rates = [base * factor(schedule.last_epoch) for base, factor in pairs]
            for group, rate in zip(more["optimizer"].param_groups, rates, strict=True):
                group["lr"] = rate
            schedule._last_lr = rates  # what is logged
