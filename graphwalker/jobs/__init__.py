"""A chain of jobs in one run folder: what was submitted, how it stands, what to run again."""
