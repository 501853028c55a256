#!/usr/bin/env bash
# What the newest releases break, before anybody has them: each is laid over .venv alone, under the tests that lean on it.
#   scripts/canary.sh             every package below; also says which release our range in pyproject.toml forbids
#   scripts/canary.sh trl peft    these       trl=git+https://github.com/huggingface/trl  its main       PRE=1  candidates, too
# .venv stays as it is.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=.venv/bin/uv python=.venv/bin/python

losses="tests/training/test_trl_contract.py tests/training/runs/test_trainer_fields.py tests/training/supervised
  tests/training/reinforce/test_grpo_loss.py tests/training/reinforce/test_packed_passes.py"
declare -A tests=(
  [accelerate]=tests/training/supervised
  [datasets]=tests/training/supervised
  [huggingface-hub]=tests/graphwalker/test_publish.py
  [peft]=tests/training/supervised/test_sft_lora.py
  [torch]="" # builds of gigabytes: told, not tried
  [transformers]="$losses tests/graphwalker/pretrained"
  [trl]=$losses
  [vllm]=""
)
chosen=("$@")
[ $# -gt 0 ] || mapfile -t chosen < <(printf '%s\n' "${!tests[@]}" | sort)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

newest() { echo "$1" | "$uv" pip compile ${PRE:+--prerelease=allow} --quiet --no-deps --no-header --no-annotate --python-version 3.11 -; }

# Whether pyproject.toml allows NAME==VERSION.
allowed() {
  "$python" - "$1" <<'PY'
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

name, _, version = sys.argv[1].partition("==")
project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
lists = [project["dependencies"], *project["optional-dependencies"].values()]
ranges = [Requirement(text) for texts in lists for text in texts]
sys.exit(any(version not in one.specifier for one in ranges if one.name == name))
PY
}

status=0
for package in "${chosen[@]}"; do
  release=${package#*=} package=${package%%=*} range="in our range"
  [ "$release" != "$package" ] || release=$(newest "$package")
  allowed "$release" || range="OUTSIDE our range"
  if [ -z "${tests[$package]}" ]; then
    echo "$release: $range"
    continue
  fi
  "$uv" pip install --quiet --python "$python" --no-deps --target "$folder/$package" "$release"
  # shellcheck disable=SC2086  # several folders
  if PYTHONPATH=$folder/$package "$python" -m pytest -q -n 0 -m "not (slow or gpu or vllm)" ${tests[$package]} \
    >"$folder/log" 2>&1; then
    echo "$release: $range; $(tail -n 1 "$folder/log")"
  else
    status=1
    grep -E '^(FAILED|ERROR|E  )' "$folder/log" | head -n 20 || tail -n 20 "$folder/log"
    echo "$release: $range; BREAKS: $(tail -n 1 "$folder/log")"
  fi
done
exit $status
