#!/bin/bash
# The whole road as a chain of jobs: data, two stages of SFT, GRPO, evaluation, report. One config, one folder:
#   slurm/pipeline.sh CONFIG.yaml          (such as configs/cluster.yaml; its `run:` is the folder)
# SHARDS (8) and EVAL_SHARDS (8) say how wide the arrays are; DATA, TRAIN and EVAL hold more options of sbatch
# for these stages (partition, account, GPUs, time). A stage starts when those before it have ended well;
#   graphwalker jobs status RUN    shows what is done, running, failed or missing
#   graphwalker jobs retry RUN     submits what is failed or missing again
set -euo pipefail
config=${1:?"usage: slurm/pipeline.sh CONFIG.yaml"}
venv=${GRAPHWALKER_VENV:-.venv}
setting() { sed -nE "s/^$1: *([^ #]+).*/\1/p" "$config"; }
run=$(setting run) graph=$(setting graph)
shards=${SHARDS:-8} parts=${EVAL_SHARDS:-8}
read -ra data <<<"${DATA:-}"
read -ra train <<<"${TRAIN:-}"
read -ra evaluation <<<"${EVAL:-}"
[ -n "$run" ] && [ -n "$graph" ] || { echo "$config names no run: or no graph:" >&2; exit 2; }

# stage NAME "STAGES BEFORE" "WHAT IT MAKES" PARTS OPTIONS... SCRIPT ARGUMENTS...
stage() {
  local name=$1 before=() parts=$4 word
  for word in $2; do before+=(--after "$word"); done
  "$venv/bin/graphwalker" jobs submit "$run" "$name" "${before[@]}" --makes "$3" --parts "$parts" -- "${@:5}"
}
card="datacard.json" shard="shards/{part}-of-$shards/datacard.json"

stage synth "" "$run/synth/$shard" "$shards" "${data[@]}" slurm/synth.sbatch --config "$config#synth"
stage synth-merge synth "$run/synth/$card" 0 "${data[@]}" slurm/merge.sbatch --graph "$graph" --out "$run/synth"
stage rl "" "$run/rl/$shard" "$shards" "${data[@]}" slurm/synth.sbatch questions --config "$config#rl"
stage rl-merge rl "$run/rl/$card" 0 "${data[@]}" slurm/merge.sbatch --graph "$graph" --out "$run/rl"
stage test "" "$run/test/$card" 0 "${data[@]}" slurm/synth.sbatch questions --config "$config#test"
stage experts rl-merge "$run/roll/$shard" "$shards" "${data[@]}" slurm/experts.sbatch --config "$config#experts"
stage experts-merge experts "$run/roll/$card" 0 "${data[@]}" \
  slurm/merge.sbatch --graph "$graph" --out "$run/roll" --questions "$run/rl/questions.jsonl"
stage sft1 synth-merge "$run/sft1/final" 0 "${train[@]}" slurm/sft.sbatch "$config#sft1"
stage sft2 "sft1 experts-merge" "$run/sft2/final" 0 "${train[@]}" slurm/sft.sbatch "$config#sft2"
stage grpo "sft2 rl-merge" "$run/grpo/final" 0 "${train[@]}" slurm/grpo.sbatch "$config#grpo"
stage eval "grpo test" "$run/eval/shards/{part}-of-$parts/complete.json" "$parts" \
  "${evaluation[@]}" slurm/eval.sbatch --config "$config#eval"
stage report eval "$run/eval/report.html" 0 "${evaluation[@]}" --gpus-per-node=0 slurm/eval.sbatch --config "$config#eval"
