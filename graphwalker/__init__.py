"""Agents that answer questions by walking a knowledge graph: train them, run them, score them."""

__version__ = "0.1.0"
