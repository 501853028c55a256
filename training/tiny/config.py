"""The settings of a tiny model that is made from nothing."""

from pydantic import Field, model_validator

from graphwalker.config import Config, RunSeed


class TinyModelConfig(Config):
    """A small Qwen2 made from nothing, with a tokenizer trained on our own text."""

    vocab_size: int = Field(default=4096, ge=300)
    """Tokens at most: 256 bytes, protocol tags, relation ids and learned words."""
    layers: int = Field(default=4, ge=1)
    """Transformer layers."""
    hidden: int = Field(default=128, ge=8)
    """Width of the residual stream."""
    heads: int = Field(default=2, ge=1)
    """Attention heads; they must divide `hidden` into even sizes."""
    intermediate: int = Field(default=512, ge=8)
    """Width of the feed-forward layers."""
    induction: bool = False
    """Start with an induction circuit in the first two layers, which copies from the context
    (`training/tiny/induction.py`); it saves most of the tokens that learning to copy names
    takes."""
    muon: bool = False
    """SFT of this model takes Muon for the matrices (`training/tiny/optimizer.py`), which halves
    the tokens that a random start needs."""
    max_position: int = Field(default=4096, ge=16)
    """Longest context, in tokens."""
    seed: RunSeed = 0
    """Initial weights."""

    @model_validator(mode="after")
    def _heads_divide(self) -> "TinyModelConfig":
        if self.hidden % (2 * self.heads):
            raise ValueError(f"hidden {self.hidden} is not a multiple of 2 * heads ({self.heads})")
        if self.induction and (self.layers < 2 or self.heads > 2):
            raise ValueError("induction needs 2 or more layers and 1 or 2 heads")
        return self


def demo_model(relations: int, seed: int) -> TinyModelConfig:
    """Return the shape of the demo's model, for a graph of so many relations."""
    return TinyModelConfig(
        vocab_size=max(4096, 2048 + 2 * relations),
        layers=4,
        hidden=128,
        heads=2,
        intermediate=384,
        induction=True,
        muon=True,
        seed=seed,
    )
