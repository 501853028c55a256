"""A Slurm cluster on this machine: munged, slurmctld and two nodes as processes in one folder."""

import getpass
import os
import shutil
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "sinfo", "squeue", "scancel")
NODES = ("n1", "n2")
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
"""Daemons live where only root's path leads."""

# A job of the partition `high` sends those of `low` back to the queue, as clusters do.
CONFIG = """\
ClusterName=graphwalker
SlurmctldHost={host}(127.0.0.1)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
KillWait=15
SchedulerParameters=bf_interval=1,sched_min_interval=1
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=4000 Gres=gpu:2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=4000 Gres=gpu:2
PartitionName=low Nodes=n1,n2 Default=YES PriorityTier=1 MaxTime=INFINITE State=UP
PartitionName=high Nodes=n1,n2 PriorityTier=2 MaxTime=INFINITE State=UP
"""


class Cluster:
    """Started by entering it; leaving it ends the jobs first, then the daemons."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": PATH}
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "Cluster":
        for name in ("state", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        self._start(
            "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={self.folder}/munge.sock", f"--pid-file={self.folder}/munged.pid",
            f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munge.seed",
        )  # fmt: skip
        # Two GPUs a node, as far as Slurm can tell: it wants character devices.
        os.mknod(self.folder / "nvidia0", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        os.mknod(self.folder / "nvidia1", 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        gpus = f"NodeName=n1,n2 Name=gpu File={self.folder}/nvidia[0-1] Flags=nvidia_gpu_env\n"
        (self.folder / "gres.conf").write_text(gpus)
        config = self.folder / "slurm.conf"
        facts = {"host": socket.gethostname().partition(".")[0], "user": getpass.getuser()}
        config.write_text(CONFIG.format(folder=self.folder, ports=free_ports(3), **facts))
        self._start("slurmctld", "-c", "-D", "-f", str(config))
        for node in NODES:
            self._start("slurmd", "-D", "-N", node, "-f", str(config))
        self._wait_for(lambda: self.say("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * 4)
        return self

    def __exit__(self, *_: object) -> None:
        jobs = self.say("squeue", "-h", "-o", "%A").split()
        if jobs:
            self.say("scancel", *jobs)  # else the jobs outlive the daemons
            self._wait_for(lambda: not self.say("squeue", "-h", "-o", "%A").strip())
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in self._daemons:
            daemon.wait(timeout=30)

    def say(self, *command: str) -> str:
        """What a command of Slurm prints; empty where it fails."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else ""

    def submit(self, cwd: Path, script: Path, *arguments: str, options: Sequence[str] = ()) -> str:
        """`sbatch` as a user types it in `cwd`; returns the job's number."""
        command = ["sbatch", "--parsable", *options, str(script), *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=cwd, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def state(self, job: str) -> str:
        """`RUNNING`, `PENDING`, `COMPLETED`, ...; those of all tasks of an array."""
        shown = self.say("scontrol", "-o", "show", "job", job).split()
        return " ".join(word.partition("=")[2] for word in shown if word.startswith("JobState="))

    def wait(self, job: str, timeout_s: float = 1800.0) -> str:
        """The state of the job when it has ended, all its tasks included."""
        alive = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")
        self._wait_for(
            lambda: not any(word in self.state(job) for word in alive), timeout_s=timeout_s
        )
        return self.state(job)

    def _start(self, *command: str) -> None:
        log = (self.folder / f"{len(self._daemons)}-{command[0]}.out").open("wb")
        self._daemons.append(
            subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        )

    def _wait_for(self, holds: Callable[[], bool], timeout_s: float = 60.0) -> None:
        deadline = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > deadline:
                logs = "\n".join(
                    f"{path.name}: {path.read_text(errors='replace')[-1500:]}"
                    for path in sorted(self.folder.glob("*.log"))
                )
                raise TimeoutError(f"Slurm is not where it should be after {timeout_s} s\n{logs}")
            time.sleep(0.2)


def missing() -> str:
    """Programs of Slurm that are not here, named; empty where all are."""
    return ", ".join(name for name in PROGRAMS if shutil.which(name, path=PATH) is None)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
