"""From a graph to questions and trajectories: walks, certificates, questions, oracle, expert."""
