#!/usr/bin/env bash
# Make .venv and install the project into it: scripts/setup.sh (called by make, safe to repeat).
# PYTHON=/path/to/python chooses the interpreter; the default is the first that is new enough.
# TORCH=cpu|cuda chooses torch's build: else CUDA where nvidia-smi is. CLUSTER=1 is TORCH=cuda with
# DeepSpeed, vLLM and Ray (some 10 GB). What was chosen is kept in .venv/.set for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/sets.sh

venv=.venv
cpu_index=https://download.pytorch.org/whl/cpu
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }
new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
can_make_venv() { "$1" -c 'import venv, ensurepip' >/dev/null 2>&1; }

# Prints the interpreter to use. constraints.txt was made on 3.11, so that one comes first.
choose_python() {
  local candidate without_venv=""
  for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3}; do
    new_enough "$candidate" || continue
    if can_make_venv "$candidate"; then
      echo "$candidate"
      return
    fi
    without_venv=$candidate
  done
  if [ -n "$without_venv" ]; then
    fail "$without_venv cannot make virtual environments (no venv or ensurepip);" \
      "on Debian or Ubuntu: sudo apt-get install python3-venv"
  fi
  fail "no Python 3.11 or newer found (tried: ${PYTHON:-python3.11 python3.12 python3.13 python3});" \
    "install one, or run: make PYTHON=/path/to/python ..."
}

# The set of packages: the one that is asked for, else the one that is here, else what fits the machine.
wanted_set() {
  if [ -n "${CLUSTER:-}" ]; then
    [ "${TORCH:-cuda}" = cuda ] || fail "CLUSTER=1 needs TORCH=cuda: leave one of the two away"
    echo cluster
  elif [ -n "${TORCH:-}" ]; then
    echo "$TORCH"
  elif [ -s "$venv/.set" ]; then
    cat "$venv/.set"
  elif [ "$(uname -s)" != Linux ] || command -v nvidia-smi >/dev/null 2>&1; then
    echo cuda
  else
    echo cpu
  fi
}

reachable() {
  "$venv/bin/python" - "$1" <<'PY' >/dev/null 2>&1
import sys
import urllib.request

urllib.request.urlopen(sys.argv[1], timeout=5)
PY
}

# Whether torch is there in the build that the set needs. A CPU build satisfies "torch==2.13.0", too.
has_torch() {
  "$venv/bin/python" - "$1" <<'PY' >/dev/null 2>&1
import sys

import torch

sys.exit(sys.platform == "linux" and sys.argv[1] != "cpu" and torch.version.cuda is None)
PY
}

# The default package index serves the CUDA build of torch for Linux: gigabytes that a machine without
# a GPU has no use for. So torch comes first, as the CPU build where one can be had.
install_torch() {
  local torch index=()
  torch=$(grep '^torch==' "$constraints")
  if [ "$1" = cpu ] && reachable "$cpu_index/torch/"; then
    index=(--extra-index-url "$cpu_index")
    say "installing the CPU build of $torch (for GPUs: make setup TORCH=cuda, or CLUSTER=1)"
  elif [ "$1" = cpu ]; then
    say "the index of CPU builds is out of reach: installing $torch as it comes"
  else
    say "installing the CUDA build of $torch"
    "$venv/bin/pip" uninstall --quiet --yes torch >/dev/null 2>&1 || true
  fi
  "$venv/bin/pip" install --quiet --constraint "$constraints" "${index[@]}" "$torch"
  has_torch "$1" || fail "$torch came as a build for CPUs: is there an own index that has only those?" \
    "(pip config list); for drivers of an older CUDA: PIP_INDEX_URL=https://download.pytorch.org/whl/cu126"
}

# uv, where it is there, is minutes faster; what only pip's settings know (a mirror), pip finds.
install_project() {
  local words=(--quiet --constraint "$constraints" --editable ".[$extras]")
  if command -v uv >/dev/null 2>&1; then
    say "uv installs them, from the indexes of its own settings"
    uv pip install --python "$venv/bin/python" "${words[@]}" && return
    say "uv could not: pip installs them"
  fi
  "$venv/bin/pip" install "${words[@]}"
}

set=$(wanted_set)
choose_set "$set"
if ! { [ -x "$venv/bin/pip" ] && new_enough "$venv/bin/python"; }; then
  python=$(choose_python)
  say "making $venv with $("$python" --version)"
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi
has_torch "$set" || install_torch "$set"
say "installing the project and its dependencies (set: $set)"
install_project
echo "$set" >"$venv/.set"
say "ready"
