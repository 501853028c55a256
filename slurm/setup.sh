# Shared by the job scripts (sourced): the environment, a place for logs, the first node's address.
# GRAPHWALKER_VENV chooses another environment than .venv of the submit folder.
set -euo pipefail
cd "${SLURM_SUBMIT_DIR:-.}"

venv=${GRAPHWALKER_VENV:-.venv}
if [ ! -x "$venv/bin/graphwalker" ]; then
  echo "no environment in $venv: run 'make setup' on the login node, or set GRAPHWALKER_VENV" >&2
  exit 2
fi
source "$venv/bin/activate"

# Compute nodes often have no network; models and data come from local folders or a filled cache.
export HF_HUB_OFFLINE=${HF_HUB_OFFLINE:-1}
export HF_HUB_DISABLE_TELEMETRY=1
export HF_HUB_DISABLE_PROGRESS_BARS=1
export TOKENIZERS_PARALLELISM=false
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1} # since Slurm 22.05 srun does not inherit it

nodes=${SLURM_JOB_NUM_NODES:-1}
gpus=${SLURM_GPUS_ON_NODE:-0}
per_node=$((gpus > 0 ? gpus : 1))
threads=$((SRUN_CPUS_PER_TASK / per_node))
export OMP_NUM_THREADS=$((threads > 0 ? threads : 1))
if [ "$nodes" -gt 1 ]; then
  first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
  head_node=$(scontrol show node "$first" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p')
else
  head_node=127.0.0.1
fi
# Jobs that share a node need different ports.
port=$((20000 + SLURM_JOB_ID % 20000))

# launch CONFIG_OF_ACCELERATE SCRIPT ARGUMENTS...: one process per GPU on every node, one without GPUs.
launch() {
  local accelerate_config=$1
  shift
  srun --kill-on-bad-exit=1 bash -c '
    exec accelerate launch --config_file "$1" --num_machines "$2" --num_processes "$3" \
      --machine_rank "$SLURM_NODEID" --main_process_ip "$4" --main_process_port "$5" "${@:6}"
  ' launch "$accelerate_config" "$nodes" "$((nodes * per_node))" "$head_node" "$port" "$@"
}
