"""What a run needs, looked at before it starts: software, GPUs, graph, model, servers, disk."""
