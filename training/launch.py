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

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from training.runs.command import EXIT_CODE
from training.runs.failures import end_logs, log_files


def launch(arguments: Sequence[str]) -> int:
    """Run `accelerate launch` with these words; return the exit code of what it started."""
    from accelerate.commands.launch import launch_command, launch_command_parser

    words = launch_command_parser().parse_args(list(arguments))
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


if __name__ == "__main__":
    sys.exit(launch(sys.argv[1:]))
