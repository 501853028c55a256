# Shared by the job scripts (sourced): the environment, marks of the stage, requeueing, launching.
set -euo pipefail
notice="" step_pid="" reaper="" # from here on, so that an early notice is not lost
trap 'notice=1; [ -z "$step_pid" ] || pass_on' USR1
cd "${SLURM_SUBMIT_DIR:-.}"
source slurm/site.sh
if [ ! -x "$venv/bin/graphwalker" ]; then
  echo "no environment in $venv: run 'make setup CLUSTER=1' on the login node, or set GRAPHWALKER_VENV" >&2
  exit 2
fi
source "$venv/bin/activate"
export HF_HUB_DISABLE_TELEMETRY=1 HF_HUB_DISABLE_PROGRESS_BARS=1 TOKENIZERS_PARALLELISM=false
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1} # since Slurm 22.05 srun does not inherit it

nodes=${SLURM_JOB_NUM_NODES:-1}
gpus=${SLURM_GPUS_ON_NODE:-0}
per_node=$((gpus > 0 ? gpus : 1))
threads=$((SRUN_CPUS_PER_TASK / per_node))
export OMP_NUM_THREADS=$((threads > 0 ? threads : 1))
job=${SLURM_JOB_ID:-0}

cleanup() { :; } # a script's own; run when it ends
trap cleanup EXIT
trap 'exit 143' TERM # cancelled: without it the mark below would say that all went well
# A stage of `graphwalker jobs`: its inputs are whole, and its mark says how it went.
if [ -n "${GRAPHWALKER_STAGE:-}" ]; then
  mark=$GRAPHWALKER_RUN/stages/$GRAPHWALKER_STAGE.${SLURM_ARRAY_TASK_ID:-0}
  mkdir -p "$GRAPHWALKER_RUN/stages"
  echo "started job $job on ${SLURMD_NODENAME:-$(hostname)} restart ${SLURM_RESTART_COUNT:-0}" >>"$mark"
  trap 'echo "ended $?" >>"$mark"; cleanup' EXIT
  graphwalker jobs ready "$GRAPHWALKER_RUN" "$GRAPHWALKER_STAGE"
  # No proxy of the environment leads to the servers of the run, which are nodes.
  hosts=$(cat "$GRAPHWALKER_RUN"/*.address 2>/dev/null | sed -n 's|^http://\([^:/]*\).*|\1|p' | paste -sd, -) || true
  export no_proxy=$hosts,${no_proxy:-${NO_PROXY:-}}
fi

# free_port: one that nobody holds on this node, for `launch` and servers. Jobs that share a node need different
# ones: ten for each, below those of outgoing connections.
free_port() {
  python - $((20000 + job % 1200 * 10)) <<'END'
import socket, sys

for port in range(int(sys.argv[1]), int(sys.argv[1]) + 9):  # the last one may be a server's
    try:
        socket.create_server(("", port)).close()
    except OSError:
        continue
    sys.exit(print(port))
sys.exit(f"ports {sys.argv[1]} to {port} are taken on this node")
END
}

# needed: false when this server belongs to a chain in which no stage needs it any more.
needed() { [ -z "${GRAPHWALKER_STAGE:-}" ] || ! graphwalker jobs idle "$GRAPHWALKER_RUN" "$GRAPHWALKER_STAGE"; }

# address_of NODE: where other nodes reach it.
address_of() { scontrol show node "$1" | sed -n 's/.*NodeAddr=\([^ ]*\).*/\1/p'; }

# step COMMAND...: run it. Before the time limit Slurm sends USR1 to this script, which hands it on:
# training saves a checkpoint, other commands end and resume from their records. Then the job goes
# back to the queue, in any case before the limit.
step() {
  local code=0
  "$@" &
  step_pid=$!
  [ -z "$notice" ] || pass_on
  while true; do
    code=0
    wait "$step_pid" || code=$?
    kill -0 "$step_pid" 2>/dev/null || break # a trapped signal ends `wait` before the step does
  done
  [ -z "$reaper" ] || kill "$reaper" 2>/dev/null || true
  if [ -n "$notice" ] && [ "$code" -ne 0 ]; then
    echo "job $job: the time limit is near: back to the queue, to resume"
    cleanup # here and not when Slurm ends this script, which leaves it half a minute
    cleanup() { :; }
    scontrol requeue "$job" && sleep 300
  fi
  return "$code"
}

# A step that is still starting does not hear the notice: it is told again every other second.
pass_on() {
  [ -z "$reaper" ] || return 0
  (for ((second = 0; second < grace; second += 2)); do
    kill -USR1 "$step_pid" || exit 0
    sleep 2
  done
  kill -KILL "$step_pid") >/dev/null 2>&1 &
  reaper=$!
}

# launch LAYOUT SCRIPT ARGUMENTS...: one process per GPU on every node, one without GPUs. `train_nodes`
# leaves nodes to servers; `port` is where they meet. The launcher ignores USR1, its processes save a checkpoint.
launch() {
  local layout=$1 count=${train_nodes:-$nodes} head=127.0.0.1
  shift
  [ "$nodes" -eq 1 ] || head=$(address_of "$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)")
  step srun --kill-on-bad-exit=1 --nodes="$count" --ntasks="$count" --relative=0 bash -c '
    trap "" USR1
    exec python -m training.launch --config_file "$1" --num_machines "$2" --num_processes "$3" \
      --machine_rank "$SLURM_PROCID" --main_process_ip "$4" --main_process_port "$5" \
      --log_dir "$6" --tee 3 "${@:7}"
  ' launch "$layout" "$count" "$((count * per_node))" "$head" "$port" \
    "${GRAPHWALKER_RUN:-runs}/logs/ranks-$job" "$@"
}
