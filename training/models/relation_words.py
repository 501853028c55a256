"""Relation ids that are single tokens, read by their words: `film.film.language` by `language`.

A token of its own says nothing of the words in it, so a relation that no demonstration takes cannot
be told from the others that are listed with it. Here the row of a relation in the embedding table
is a part of its own plus its words' rows, from the first weights on and through every step of SFT:
what is learned of a word holds for all relations that have it. The sum is kept in the table itself,
so a saved model is a plain one. GRPO moves the rows one by one: there it learns which relation a
word of people's own stands for, not what the relation's words have in common.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from graphwalker.errors import UserError
from graphwalker.ranking.bm25 import words

SETTING = "relation_words"
"""What the model's config says: the ids of the words' tokens, by that of the relation's."""
NEEDS_WHOLE = (
    "a model whose relations are read by their words (model.relation_words) is trained with whole "
    "weights in each process; leave out the sharding of parameters"
)
SHORTEST = 3
"""Letters of a word, and of its first token, that says something; `s` and `in` do not."""


def words_of_relations(relations: Iterable[str], tokenizer: Any) -> dict[str, list[int]]:
    """Ids of the tokens that each relation's words begin with, by the id of the relation's own
    token. Counted are the words of an id's last name, of each part of a path through a mediator
    (`a.b.spouse_s..a.marriage.spouse`)."""
    found: dict[str, list[int]] = {}
    known = tokenizer.get_vocab()
    for relation in sorted(set(relations) & known.keys()):
        names = [re.split(r"[./#:]", part)[-1] for part in relation.split("..")]
        apart = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name) for name in names]
        read = [word for name in apart for word in words(name) if len(word) >= SHORTEST]
        first = {tokenizer.encode(word, add_special_tokens=False)[0] for word in read}
        ids = sorted(t for t in first if len(tokenizer.decode([t]).strip()) >= SHORTEST)
        if ids:
            found[str(known[relation])] = ids
    return found


class RelationWords:
    """Keeps the rows of relations in step with those of their words, a (tokens, width) table."""

    def __init__(
        self, table: Tensor, tokens: Mapping[str, list[int]], taken: Collection[int] | None = None
    ) -> None:
        """`taken`: tokens that training shows as the right ones; None: any. The others are but told
        to be wrong, everywhere and at every step, so of a relation that is not among them only the
        words are learned."""
        relations, ids = list(map(int, tokens)), sorted({t for ts in tokens.values() for t in ts})
        if table.ndim != 2 or max([*relations, *ids]) >= len(table):
            raise UserError(NEEDS_WHOLE)
        self._table = table
        self._relations = torch.tensor(relations, device=table.device)
        self._words = torch.tensor(ids, device=table.device)
        place = {token: number for number, token in enumerate(ids)}
        self._share = torch.zeros(len(relations), len(ids), device=table.device)
        for number, those in enumerate(tokens.values()):
            # As long as the row of one word, whatever their number.
            self._share[number, [place[token] for token in those]] = len(those) ** -0.5
        still = [r for r in relations if taken is not None and r not in taken]
        self._still = torch.tensor(still, dtype=torch.long, device=table.device)
        self._before: Tensor | None = None
        self._depth = 0

    @torch.no_grad()
    def add(self, rows: Tensor) -> None:
        """Add to relations what was added to the rows of words: (words, width)."""
        self._table[self._relations] += (self._share @ rows.float()).to(self._table.dtype)

    @torch.no_grad()
    def begin(self) -> None:
        """Add the first rows of words."""
        self.add(self._table[self._words])

    @torch.no_grad()
    def before(self, *_: Any) -> None:
        """Before an optimizer's step: words take part in the gradients of their relations."""
        self._depth += 1
        if self._depth > 1:  # an optimizer's step within the step of one that is made from it
            return
        self._before = self._table[self._words]
        if self._table.grad is not None:
            self._table.grad[self._still] = 0
            shared = self._share.T @ self._table.grad[self._relations].float()
            self._table.grad[self._words] += shared.to(self._table.dtype)

    @torch.no_grad()
    def after(self, *_: Any) -> None:
        """After it: relations move with their words."""
        self._depth -= 1
        if not self._depth and self._before is not None:
            self.add(self._table[self._words] - self._before)
            self._before = None


def read_by_words(
    optimizer: Any, model: nn.Module, taken: Collection[int] | None = None, shared: bool = False
) -> None:
    """Let the optimizer's steps keep the relations of a model in step with their words, where the
    model's config asks for that and its embeddings are trained. (`taken`: `RelationWords`.)

    Raises `UserError` where processes hold a part of the weights each (`shared`).
    """
    bare: Any = model
    tokens: Mapping[str, list[int]] | None = getattr(bare.config, SETTING, None)
    table: Tensor = bare.get_input_embeddings().weight
    if tokens and table.requires_grad:
        if shared:
            raise UserError(NEEDS_WHOLE)
        rows = RelationWords(table, tokens, taken)
        optimizer.register_step_pre_hook(rows.before)
        optimizer.register_step_post_hook(rows.after)
