"""SFT and GRPO on trajectories, with TRL as the engine."""

import graphwalker.policies.local  # how threads wait: before any module here loads torch  # noqa: F401
