#!/usr/bin/env bash
# The wheel in fresh environments, as its users install it: scripts/extras.sh [EXTRA ...]
# The core makes a world, data and their verification in an empty folder; beside it each light extra is
# installed and imported, and the command runs.
# The heavy ones (gigabytes) are resolved only. PYTHON=/path/to/python chooses the interpreter.
set -euo pipefail
cd "$(dirname "$0")/.."

light=(core sparql api hub networkx formats neo4j serve mcp openenv inspect report tensorboard)
heavy=(train lora deepspeed vllm ray embed train,vllm)
declare -A modules=(
  [core]="graphwalker data_pipeline eval" [sparql]="SPARQLWrapper rdflib httpx" [api]="httpx"
  [networkx]=networkx [formats]="networkx pyarrow pyoxigraph" [neo4j]=neo4j [serve]="starlette uvicorn" [report]=matplotlib
  [tensorboard]=tensorboard [hub]=huggingface_hub [mcp]=mcp [openenv]="starlette websockets" [inspect]=inspect_ai
)
python=${PYTHON:-.venv/bin/python}
uv=$(command -v .venv/bin/uv || command -v uv || true)
[ -n "$uv" ] || { echo "uv is not here: pip install uv" >&2; exit 2; }
chosen=("$@")
[ $# -gt 0 ] || chosen=("${light[@]}" "${heavy[@]}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m pip wheel --quiet --no-deps --wheel-dir "$work/wheel" .
wheel=$(echo "$work"/wheel/*.whl)

# Run a command; what it writes is shown where it fails.
quiet() { "$@" >"$work/log" 2>&1 || { echo "$*:" >&2; tail -5 "$work/log" >&2; exit 1; }; }

install() {
  local extra=$1 env=$work/env module
  rm -rf "$env" "$work/empty"
  mkdir "$work/empty"
  "$uv" venv --quiet --python "$python" "$env"
  "$uv" pip install --quiet --python "$env/bin/python" --constraint constraints.txt \
    "graphwalker-kgqa${2} @ file://$wheel"
  (
    cd "$work/empty"
    unset PYTHONPATH
    for module in ${modules[$extra]}; do "$env/bin/python" -c "import $module"; done
    PATH=$env/bin:$PATH
    quiet graphwalker --version
    [ "$extra" = core ] || exit 0
    quiet graphwalker graph make --entities 1000 --out world
    quiet graphwalker synth --graph world/graph --count 4 --out synth
    quiet graphwalker verify synth/graphsynth.jsonl --graph world/graph
  )
  echo "$extra: installed, $("$uv" pip list --quiet --python "$env/bin/python" | tail -n +3 | wc -l) packages$([ "$extra" != core ] || echo "; world, data and verification made")"
}

resolve() {
  local found
  found=$("$uv" pip install --dry-run --python "$work/bare/bin/python" "graphwalker-kgqa[$1] @ file://$wheel" 2>&1) ||
    { echo "$1 does not resolve: $found" >&2; return 1; }
  echo "$1: resolves, $(grep -c '^ + ' <<<"$found") packages"
}

"$uv" venv --quiet --python "$python" "$work/bare"
for extra in "${chosen[@]}"; do
  if [ "$extra" = core ]; then
    install core ""
  elif [[ " ${light[*]} " == *" $extra "* ]]; then
    install "$extra" "[$extra]"
  elif [[ " ${heavy[*]} " == *" $extra "* ]]; then
    resolve "$extra"
  else
    echo "no such extra here: $extra (known: ${light[*]} ${heavy[*]})" >&2
    exit 2
  fi
done
