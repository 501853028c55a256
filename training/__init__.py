"""SFT and GRPO on trajectories, with TRL as the engine."""
