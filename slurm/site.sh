# What differs between clusters: edit this file once. Sourced by every job before its environment.

# Modules, if the system's compiler or driver libraries come that way:
#   module load cuda/13.0 gcc/12
# NCCL: the network interface between nodes, and InfiniBand switched off where it is broken:
#   export NCCL_SOCKET_IFNAME=ib0 GLOO_SOCKET_IFNAME=ib0
#   export NCCL_IB_DISABLE=1
export NCCL_DEBUG=${NCCL_DEBUG:-WARN}
# A node's own disk: compiled graphs are copied there once per node and read from there.
#   export GRAPHWALKER_LOCAL_DISK=/scratch/$USER
# Models and data come from local folders or a filled cache: compute nodes often have no network.
export HF_HUB_OFFLINE=${HF_HUB_OFFLINE:-1}
# Seconds a step has to save its checkpoint after the notice before the time limit.
grace=${GRAPHWALKER_GRACE:-100}
# The environment: .venv of the submit folder, unless GRAPHWALKER_VENV names another.
venv=${GRAPHWALKER_VENV:-.venv}
