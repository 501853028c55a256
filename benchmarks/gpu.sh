#!/usr/bin/env bash
# Every figure that needs a GPU, in order of worth, each part within its time:
#   benchmarks/gpu.sh [MINUTES]          (30; results: benchmarks/results/gpu-NAME-OF-THE-GPU.json)
#   benchmarks/gpu.sh 10 --parts first    (SFT, GRPO alone, with vLLM, with LoRA, by a server, by two processes: a minute each)
#   benchmarks/gpu.sh 8 --parts sft-0.5b on-gpu     (some of them; their names: benchmarks/gpu.py)
#   benchmarks/gpu.sh 12 --parts real-grpo real-grpo-vllm real-grpo-vllm-lora   (of a pretrained model, with OUT/real/model,
#     whose weights may come in parts model.safetensors.00, .01, ..., OUT/real/graph and OUT/real/questions.jsonl)
#   benchmarks/gpu.sh --dry [MINUTES]    the same code with tiny shapes on the CPU: does it run here?
# The same command resumes: parts that are done are left. OUT=DIR is where it works (runs/gpu).
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${GRAPHWALKER_VENV:-.venv}
python=$venv/bin/python
[ -x "$python" ] || python=$(command -v python3)
dry=()
if [ "${1:-}" = --dry ]; then dry=(--dry) && shift; fi
export HF_HUB_OFFLINE=1 TOKENIZERS_PARALLELISM=false HF_HUB_DISABLE_PROGRESS_BARS=1
exec "$python" -m benchmarks.gpu "${dry[@]}" --minutes "${1:-30}" --out "${OUT:-runs/gpu}" "${@:2}"
