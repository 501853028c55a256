#!/usr/bin/env bash
# Make .venv and install the project into it: scripts/setup.sh (called by make, safe to repeat).
# PYTHON=/path/to/python chooses the interpreter; the default is the first that is new enough.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv
constraints=constraints.txt
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

reachable() {
  "$venv/bin/python" - "$1" <<'PY' >/dev/null 2>&1
import sys
import urllib.request

urllib.request.urlopen(sys.argv[1], timeout=5)
PY
}

# The default package index serves the CUDA build of torch for Linux: gigabytes that a machine without
# a GPU has no use for. So torch comes first, as the CPU build where one can be had.
install_torch() {
  local torch
  torch=$(grep '^torch==' "$constraints")
  if [ "$(uname -s)" != Linux ] || command -v nvidia-smi >/dev/null 2>&1; then
    say "installing $torch"
    "$venv/bin/pip" install --quiet --constraint "$constraints" "$torch"
  elif reachable "$cpu_index/torch/"; then
    say "no GPU found: installing the CPU build of $torch"
    "$venv/bin/pip" install --quiet --constraint "$constraints" --extra-index-url "$cpu_index" "$torch"
  else
    say "no GPU found, and the index of CPU builds is out of reach: installing $torch as it comes"
    "$venv/bin/pip" install --quiet --constraint "$constraints" "$torch"
  fi
}

if ! { [ -x "$venv/bin/pip" ] && new_enough "$venv/bin/python"; }; then
  python=$(choose_python)
  say "making $venv with $("$python" --version)"
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi
"$venv/bin/python" -c 'import torch' >/dev/null 2>&1 || install_torch
say "installing the project and its dependencies"
"$venv/bin/pip" install --quiet --constraint "$constraints" --editable '.[train,lora,tensorboard,report,sparql,api,networkx,serve,docs,dev]'
say "ready"
