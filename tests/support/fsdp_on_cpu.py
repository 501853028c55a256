"""A script of ours under FSDP2 without a GPU: `accelerate launch ... fsdp_on_cpu.py SCRIPT ...`.

PyTorch shards over gloo on CPUs, too; accelerate alone asks for an accelerator before it hands a
model over. Here it is told otherwise, and nothing else is changed.
"""

import runpy
import sys
from functools import wraps
from typing import Any

from accelerate.state import AcceleratorState, PartialState
from accelerate.utils import DistributedType


def shard_on_cpu() -> None:
    """Let accelerate take processes on CPUs for ones that FSDP may share a model out to."""
    begin = AcceleratorState.__init__

    @wraps(begin)
    def started(self: Any, *args: Any, fsdp_plugin: Any = None, **kwargs: Any) -> None:
        begin(self, *args, fsdp_plugin=fsdp_plugin, **kwargs)
        if fsdp_plugin is not None and self.distributed_type == DistributedType.MULTI_CPU:
            self.distributed_type = DistributedType.FSDP
            self.fsdp_plugin = fsdp_plugin
            if self._mixed_precision != "no":
                fsdp_plugin.set_mixed_precision(self._mixed_precision)
            PartialState._shared_state["distributed_type"] = DistributedType.FSDP

    AcceleratorState.__init__ = started


if __name__ == "__main__":
    shard_on_cpu()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
