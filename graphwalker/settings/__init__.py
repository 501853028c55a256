"""Settings files: what their text may hold."""
