#!/usr/bin/env bash
# The constraints files: scripts/locks.sh check   each set still resolves, to what its file says
#                        scripts/locks.sh renew   write constraints-cluster.txt again
#                        scripts/locks.sh hashes  write locks/, for pip install --require-hashes
# Resolving reads metadata alone: seconds, and no wheel is fetched. For Linux on x86-64.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/sets.sh

uv=$(command -v .venv/bin/uv || command -v uv || true)
[ -n "$uv" ] || { echo "uv is not here: pip install uv" >&2; exit 2; }
found=$(mktemp)
trap 'rm -f "$found"' EXIT

# resolve PYTHON ARGUMENT...: the packages of the chosen set, into $found.
resolve() {
  local python=$1 flags=() extra
  shift
  for extra in ${extras//,/ }; do flags+=(--extra "$extra"); done
  "$uv" pip compile --quiet pyproject.toml "${flags[@]}" --python-version "$python" --no-header \
    --python-platform x86_64-manylinux_2_28 --no-annotate --output-file "$found" "$@" >/dev/null
}

names() { sed -nE 's/^([A-Za-z0-9._-]+)==.*/\L\1/p' "$1" | tr '_.' '--' | sort; }

check() {
  local name python missing free
  for name in cpu cluster; do
    choose_set "$name"
    # The default index has torch's CUDA build, whose companions torch itself pins.
    free='^$'
    [ "$name" = cluster ] || free='^(nvidia|cuda)-|^triton$|^setuptools$'
    for python in $pythons; do
      : >"$found"
      resolve "$python" --constraint "$constraints"
      missing=$(comm -23 <(names "$found") <(names "$constraints") | grep -vE "$free" | tr '\n' ' ' || true)
      if [ -n "$missing" ]; then
        echo "$constraints does not pin, for Python $python: $missing" >&2
        exit 1
      fi
      echo "$name, Python $python: $(names "$found" | wc -l) packages resolve under $constraints"
    done
  done
}

renew() {
  local python
  choose_set cluster
  : >"$found"
  {
    echo "# The lock of a cluster's environment (Linux, x86-64, CUDA): torch, vLLM and DeepSpeed versions that go together."
    echo "# Written by scripts/locks.sh renew; scripts/locks.sh check resolves it in CI."
    # Oldest first: what it chose is kept for newer ones, which torch alone asks for an older setuptools.
    for python in $pythons; do
      resolve "$python" --constraint <(echo "setuptools<81")
      sed -E 's/ *;.*//' "$found"
    done | sort --unique
  } >"$constraints.new"
  mv "$constraints.new" "$constraints"
}

# Each set with the digests of its packages, as the index gives them; no index is named in the files.
hashes() {
  local name
  mkdir -p locks
  for name in core light train gpu; do
    choose_set "$name"
    resolve 3.11 --constraint "$constraints" --generate-hashes
    {
      echo "# GraphWalker's packages with their digests: set $name (extras: ${extras:-none}), Python 3.11, Linux on x86-64."
      echo "# pip install --require-hashes -r locks/$name.txt && pip install --no-deps graphwalker-kgqa"
      echo "# Written by scripts/locks.sh hashes, from $constraints."
      cat "$found"
    } >"locks/$name.txt"
    echo "locks/$name.txt: $(names "$found" | wc -l) packages, $(grep -c -- --hash= "$found") digests"
  done
}

case "${1:-check}" in
  check) check ;;
  renew) renew ;;
  hashes) hashes ;;
  *) echo "usage: scripts/locks.sh check|renew|hashes" >&2; exit 2 ;;
esac
