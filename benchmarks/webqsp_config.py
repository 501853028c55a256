"""What the rows of `benchmarks.webqsp_rows` are trained and measured with: `configs/webqsp/`."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from benchmarks.record import ROOT
from graphwalker.config import Config
from training.config import TinyModelConfig

ROWS = ROOT / "configs" / "webqsp" / "rows.yaml"


class RowConfig(Config):
    """One row: what its ranker and its agent have seen."""

    start: str = ""
    """Row from whose agent this one is trained on; empty: from an untrained one."""
    ranker: dict[str, float]
    """Question sets that the ranker is trained on, and how much one example of each counts."""
    whole_relations: float = 0.0
    """Share of the relations that the ranker's folds hold out with all their phrases: listings in
    training are then as hard as those of real questions."""
    demonstrations: dict[str, int]
    """Question sets that the oracle plays for the agent: of how many questions at most."""
    repeats: dict[str, int] = {}
    """How often an epoch of SFT has the demonstrations of a set, where not once."""
    first_share: float = Field(default=0.0, ge=0, le=1)
    """Of the demonstrations of `balanced` so many take the relation that is listed first; others
    are left out for that. 0: all are trained on."""
    balanced: tuple[str, ...] = ("synthesis",)
    """Question sets whose demonstrations are chosen by `first_share`; of others all are kept."""
    deepest: int = Field(default=8, ge=1)
    """Where `first_share` is set: demonstrations take one of the first so many relations."""
    copies: dict[int, int] = {}
    """Where `first_share` is set: `{5: 4}` trains four times on a demonstration whose rarest
    relation is in at most five of them."""
    structure_copies: dict[str, int] = {}
    """Where `first_share` is set: `{2I: 3}` trains three times on a demonstration of a conjunction
    of two. An agent learns late to look at the second entity, some seeds not at all."""
    looks: int = Field(default=0, ge=0)
    """Further demonstrations, of the first call alone, at any entities of the graph."""
    environment: dict[str, Any] = {}
    """Settings of the environment that this row sets otherwise."""
    next_relations: int = Field(default=0, ge=0)
    """How often an epoch has each demonstration that goes on to the next relation, where the ones
    before lead to nothing of the kind that was asked for."""
    next_anywhere: int = Field(default=0, ge=0)
    """Further demonstrations of that sort, at any entities of the graph."""
    next_pages: bool = False
    """Whether those read further pages of what they answer with; else they have no such result."""
    first_relations: int = Field(default=0, ge=0)
    """Further demonstrations that take the first relation of a list, at any entities of the graph,
    one relation of it after the other in that place."""
    mistakes: dict[str, int] = {}
    """Question sets, and of how many questions, that the agent (of the first seed) plays when it
    is trained: what it gets wrong, with the oracle's way back, is added to a second round."""
    sft: dict[str, Any] = {}
    """Settings of SFT that differ from those of all rows."""
    again: dict[str, Any] = {}
    """Settings of the second round, where they differ from those of the first."""

    def chooses(self, kind: str) -> bool:
        """Whether the demonstrations of a question set are chosen by `first_share`."""
        return bool(self.first_share) and kind in self.balanced

    @model_validator(mode="after")
    def _known_sets(self) -> Self:
        for field in ("repeats", "balanced"):
            if unknown := set(getattr(self, field)) - set(self.demonstrations):
                raise ValueError(f"{field}: no demonstrations of {', '.join(sorted(unknown))}")
        return self


class RowsConfig(Config):
    """All rows, and what they share."""

    seed: int = 0
    """Of the synthesis and the rankers; the agents have those of `seeds`."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of each agent's weights and of the order of its rows."""
    split: Literal["test", "dev"] = "test"
    """What is evaluated on: WebQSP's test questions, or every fifth of its training questions,
    which are then trained on by nobody."""
    synth: dict[str, Any] = {}
    """The synthesis (see `graphwalker config synth`)."""
    heldout: dict[str, Any] = {}
    """Held-out synthesized questions, where they differ from `synth`."""
    environment: dict[str, Any] = {}
    """The environment of everything, without its ranker."""
    model: TinyModelConfig = TinyModelConfig()
    """The agent before training."""
    texts: int = Field(default=6000, ge=1)
    """Demonstrations that the tokenizer learns its words from."""
    models: str = ""
    """Run folder whose untrained agents and tokenizer are taken; empty: they are made."""
    rows: dict[str, RowConfig]
    sft: dict[str, Any] = {}
    """SFT in all rows (see `graphwalker config sft`)."""
    mistakes: dict[str, Any] = {}
    """How agents play the questions of `mistakes` (see `graphwalker config experts`)."""
    eval: dict[str, Any] = {}
    """Evaluation of the agents (see `graphwalker config eval`)."""
