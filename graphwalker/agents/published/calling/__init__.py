"""Published agents that call tools in one conversation."""
