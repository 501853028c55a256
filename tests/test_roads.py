"""The roads of docs/webqsp.md and docs/your-graph.md, word for word but for smaller counts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphwalker.files import read_json, read_jsonl
from support import webqsp_sample
from support.paths import ROOT

SMALLER = {
    "model=runs/models/smollm2": "model=runs/models/smollm2 max_steps=2",
    "#grpo": "#grpo steps=1 prompts_per_step=2 samples=2 micro_batch=4",
    "graphwalker eval": "graphwalker eval samples=0 max_tokens=16",
    "graphwalker sft": "graphwalker tiny {data} --graph {graph} --out runs/models/smollm2"
    "\ngraphwalker sft",
}
"""A tiny model takes the place of the one that is downloaded."""


def run_page(page: str, folder: Path, data: str, graph: str) -> str:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.S | re.M)
    last = next(n for n, block in enumerate(blocks) if "graphwalker grpo" in block)
    script = "\n".join(("set -e", *blocks[: last + 1]))
    for given, smaller in SMALLER.items():
        assert given in script, f"{page} has no {given}"
        script = script.replace(given, smaller.replace("{data}", data).replace("{graph}", graph))
    for name in ("configs", "benchmarks", "graphwalker", "training", "eval"):
        (folder / name).symlink_to(ROOT / name)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    settings = {"PATH": path, "HOME": str(folder), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    settings["PYTHONPATH"] = str(ROOT)
    line = ["bash", "-c", script]
    done = subprocess.run(line, cwd=folder, env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.long
def test_the_road_from_a_table_to_a_report_runs(tmp_path: Path) -> None:
    run_page("your-graph.md", tmp_path, "runs/company-data/graphsynth.jsonl", "runs/company")
    assert len(list(read_jsonl(tmp_path / "runs" / "own.jsonl"))) == 3
    assert (tmp_path / "runs" / "company-eval" / "report.html").is_file()
    assert read_json(tmp_path / "runs/company-eval/report.json")["stages"][0]["questions"] == 2


@pytest.mark.long
def test_the_road_of_webqsp_ends_beside_published_predictions(tmp_path: Path) -> None:
    webqsp_sample.write(tmp_path)
    said = run_page("webqsp.md", tmp_path, "runs/webqsp/roll/graphroll.jsonl", "runs/webqsp/graph")
    assert "train: 2 of 3 questions" in said
    assert "rog" in said and (tmp_path / "runs" / "webqsp" / "compared" / "compare.html").is_file()
