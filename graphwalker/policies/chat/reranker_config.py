"""Settings of a chat model that reranks relations; without an address BM25's order stands."""

from pydantic import Field

from graphwalker.policies.chat.config import OptionalChatConfig


class RerankerConfig(OptionalChatConfig):
    """An OpenAI-compatible server that chooses which relations an agent is shown (GraphWalker
    section 3, Table 8). Nothing is asked where all relations would be shown anyway."""

    base_url: str = ""
    """Address up to and without `/chat/completions`. Empty: BM25 alone."""
    model: str = ""
    """The model's name on that server (the paper: Qwen2.5-7B-Instruct)."""
    candidates: int = Field(default=100, ge=1)
    """Relations put before the model, BM25's first ones."""
    max_tokens: int = Field(default=1024, ge=16)
    """Completion tokens of one answer; it is drawn at temperature 0."""
    seed: int = 0
    """Sent with every request."""
    prompt: str = ""
    """Your own prompt by path, with the slots of `graphwalker/ranking/prompts/rerank.txt`."""
    cache_dir: str = ""
    """Where answers are kept, for all runs and processes of a machine to share: the same question
    at the same entity shows the same relations in data, training and evaluation. Empty:
    `graphwalker/reranker` in the user's cache folder."""
