"""Run an agent on questions, score it, and report what it did."""
