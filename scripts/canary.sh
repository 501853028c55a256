#!/usr/bin/env bash
# What the next TRL breaks, before anybody has it: the newest one, in an environment of its own, under the
# contract tests of the members that training rests on and the tests of the loss against a hand computation.
#   scripts/canary.sh            the newest release          TRL=git+https://github.com/huggingface/trl  its main
# PRE=1 takes release candidates, too; BASE=/path/to/python borrows that environment's other packages.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${CANARY:-build/canary}
wanted=${TRL:-trl}
cpu_index=https://download.pytorch.org/whl/cpu
export PIP_DISABLE_PIP_VERSION_CHECK=1 OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1

rm -rf "$venv"
own=()
if [ -n "${BASE:-}" ]; then
  "$BASE" -m venv "$venv"
  own=(--ignore-installed --no-deps) # what is borrowed is not touched
  "$BASE" -c 'import site; print(*site.getsitepackages(), sep="\n")' \
    > "$("$venv/bin/python" -c 'import site; print(site.getsitepackages()[0])')/borrowed.pth"
else
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet --constraint constraints.txt --extra-index-url "$cpu_index" '.[train,lora]' pytest hypothesis
fi
# pip warns that our own pin is passed over, which is what this is a trial of.
"$venv/bin/pip" install --quiet --upgrade "${own[@]}" ${PRE:+--pre} "$wanted"
"$venv/bin/python" -c 'import torch, transformers, trl
print(f"canary: trl {trl.__version__}, transformers {transformers.__version__}, torch {torch.__version__}")'
PYTHONPATH=$PWD "$venv/bin/python" -m pytest -q -p no:cacheprovider \
  tests/training/test_trl_contract.py tests/training/runs/test_trainer_fields.py \
  tests/training/reinforce/test_grpo_loss.py tests/training/reinforce/test_packed_passes.py "$@"
