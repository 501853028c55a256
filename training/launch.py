"""`accelerate launch` as the command line starts it: its exit code is that of the training, a
refusal stays one line, and every log ends with the reason of the process that failed first.

python -m training.launch --num_processes 2 --module training.sft --config configs/sft.yaml
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from training.runs.command import EXIT_CODE
from training.runs.failures import end_logs, log_files

LAYOUTS = ("multi_gpu", "use_deepspeed", "use_fsdp", "use_megatron_lm", "tpu")
"""Options of `accelerate launch` that say how processes share the work."""


def launch(arguments: Sequence[str]) -> int:
    """Run `accelerate launch` with these words; return the exit code of what it started."""
    from accelerate.commands.launch import launch_command, launch_command_parser

    words = launch_command_parser().parse_args(list(arguments))
    start_all_on_cpus(words)
    earlier = set(log_files(words.log_dir))
    with TemporaryDirectory() as folder:
        file = Path(folder) / "code"
        os.environ[EXIT_CODE] = str(file)
        try:
            launch_command(words)
            return 0
        except ChildFailedError as error:
            end_logs(error, set(log_files(words.log_dir)) - earlier)
            code = 1  # accelerate's traceback would follow what the training said
        except subprocess.CalledProcessError:
            code = 1
        except (SignalException, KeyboardInterrupt):
            code = 128 + signal.SIGINT
        return int(file.read_text(encoding="ascii")) if file.is_file() else code


def start_all_on_cpus(words: Any) -> None:
    """Without a GPU `accelerate launch` starts one process, however many its words ask for; set the
    layout that starts them all."""
    from accelerate.commands.config.config_args import load_config_from_file
    from torch.cuda import is_available

    if is_available() or (words.num_processes or 1) < 2 or any(getattr(words, n) for n in LAYOUTS):
        return
    file = words.config_file and load_config_from_file(words.config_file)
    if not file or file.distributed_type in ("NO", "MULTI_CPU"):
        words.cpu, words.multi_gpu = False, True


if __name__ == "__main__":
    sys.exit(launch(sys.argv[1:]))
