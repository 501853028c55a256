# The sets of packages that are known to resolve together (sourced by setup.sh and locks.sh).
# A set: its constraints file, the extras it installs, the Pythons that it is for.
light=sparql,api,networkx,neo4j,serve,report,tensorboard
common=train,constrained,gguf,lora,tensorboard,report,sparql,api,networkx,formats,neo4j,serve,openenv,hub,docs,dev
choose_set() {
  case "$1" in
    core) constraints=constraints.txt extras= pythons="3.11" ;;
    light) constraints=constraints.txt extras=$light pythons="3.11" ;;
    train) constraints=constraints.txt extras=$light,train,lora pythons="3.11" ;;
    gpu) constraints=constraints-cluster.txt extras=$light,train,lora,deepspeed,vllm,ray pythons="3.11" ;;
    # vLLM pins an older mcp.
    cpu | cuda) constraints=constraints.txt extras=$common,mcp pythons="3.11" ;;
    cluster) constraints=constraints-cluster.txt extras=$common,deepspeed,vllm,ray pythons="3.11 3.12 3.13" ;;
    *) echo "no such set of packages: $1 (known: cpu, cuda, cluster)" >&2; exit 2 ;;
  esac
}
