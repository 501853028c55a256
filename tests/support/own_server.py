"""GRPO whose processes each draw from a server of their own, which gets no weights:
`SERVERS=URL,URL accelerate launch ... own_server.py --config F`.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from graphwalker.policies.base import Policy
from graphwalker.policies.vllm.config import VllmConfig
from graphwalker.policies.vllm.load import server_policy
from training.grpo import run_grpo
from training.grpo_config import GrpoConfig
from training.reinforce import rollout
from training.reinforce.engines import RolloutEngine
from training.runs.command import run_command
from training.runs.distributed import rank


class OwnServer(RolloutEngine):
    """The server of this process."""

    @contextmanager
    def open(self, trainer: Any) -> Iterator[Policy]:
        mine = VllmConfig(base_url=os.environ["SERVERS"].split(",")[rank()], retries=0)
        about = (trainer.processing_class, trainer.model.generation_config, self.fmt)
        yield server_policy(mine, *about, self.config.max_context, 8, "training")


if __name__ == "__main__":
    rollout.rollout_engine = OwnServer
    sys.exit(run_command("own_server.py", GrpoConfig, run_grpo))
