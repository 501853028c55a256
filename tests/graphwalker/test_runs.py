"""Run folders: one set of settings, one writer; files whole or not there."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.files import hold_file, read_json, whole_file, write_json
from graphwalker.runs import LOCK, claim, lock_folder, locked_file


class Inner(Config):
    depth: int = 2


class Settings(Config):
    errors: int = 1
    workers: int = 1
    later: str = "default"
    inner: Inner = Inner()


def test_the_field_that_differs_is_named_with_both_values(tmp_path):
    claim(tmp_path, {"config": Settings()})
    with pytest.raises(UserError, match=r"inner\.depth was 2 and is now 3; choose another"):
        claim(tmp_path, {"config": Settings(inner=Inner(depth=3))})


def test_what_was_not_written_down_has_its_default(tmp_path):
    write_json(tmp_path / "run.json", {"config": {"errors": 1, "workers": 1, "inner": {}}})
    assert not claim(tmp_path, {"config": Settings()})
    with pytest.raises(UserError, match="errors was 1 and is now 5"):
        claim(tmp_path, {"config": Settings(errors=5)})


def test_a_config_is_a_claim_of_its_own(tmp_path):
    assert claim(tmp_path, Settings(), "config.yaml", free=("workers",), foreign="*")
    assert not claim(tmp_path, Settings(workers=2), "config.yaml", free=("workers",))
    with pytest.raises(UserError, match="errors was 1 and is now 2"):
        claim(tmp_path, Settings(errors=2), "config.yaml")


def test_a_folder_of_other_files_is_refused(tmp_path):
    (tmp_path / "mine.jsonl").write_text("{}\n")
    with pytest.raises(UserError, match="contains files of another run"):
        claim(tmp_path, {})
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]


HOLDER = """
import sys, time
from pathlib import Path
from graphwalker.runs import lock_folder
with lock_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_refused_by_name_until_the_first_is_dead(tmp_path):
    words = [sys.executable, "-c", HOLDER, str(tmp_path)]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    told = f"process {holder.pid}.* is writing here"
    with pytest.raises(UserError, match=told), lock_folder(tmp_path):
        pass
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    started = time.monotonic()
    with lock_folder(tmp_path):
        assert (tmp_path / LOCK).is_file()
    assert time.monotonic() - started < 30 and not list(tmp_path.iterdir())


def test_a_held_file_is_waited_for_and_then_held_anew(tmp_path):
    path, order = tmp_path / "lock", []

    def second():
        with hold_file(path) as file:
            order.append(("second", file.read()))

    with ThreadPoolExecutor() as pool:
        with hold_file(path) as file:
            file.write(b"first")
            waiting = pool.submit(second)
            time.sleep(0.2)
            order.append("first")
            path.rename(tmp_path / "done")  # as a written file moves into place
        waiting.result()
    assert order == ["first", ("second", b"")]


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path):
    path = tmp_path / "facts.json"
    write_json(path, {"a": 1})
    with pytest.raises(RuntimeError), whole_file(path) as out:
        out.write("{")
        raise RuntimeError
    assert read_json(path) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["facts.json"]


@pytest.mark.parametrize("text", ["", "[1]", "{", "\x00"])
def test_what_is_no_json_object_is_told_with_its_remedy(tmp_path, text):
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(UserError, match=r"card\.json: damaged .*: make that shard again"):
        read_json(tmp_path / "card.json", "make that shard again")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc here")
@pytest.mark.parametrize("lock", [lock_folder, locked_file])
def test_a_place_that_holds_no_files_is_refused_in_one_line(lock):
    with pytest.raises(UserError, match=r"/proc/x: .*; give another path"), lock(Path("/proc/x")):
        pass
