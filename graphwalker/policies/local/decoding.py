"""The rows that an engine decodes together: what each has drawn, and whether it is done."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from graphwalker.policies.base import Request
from graphwalker.policies.local.constraint import GrammarMasks
from graphwalker.policies.local.sampling import ENDS, MAY_END, Cut, StopTokens, draw, uniforms
from graphwalker.trajectory import Message


# Compared by identity: samples of one question begin as equal ids, and are different episodes.
@dataclass(slots=True, eq=False)
class CachedEpisode:
    """An episode's ids and its row of the cache."""

    key: str
    row: int
    ids: list[int] = field(default_factory=list[int])
    cached: int = 0
    """The first `cached` ids have their keys and values in the cache."""
    messages: tuple[Message, ...] = ()

    @property
    def pending(self) -> int:
        """Ids to prefill; the last one is left for the first decoding step."""
        return len(self.ids) - 1 - self.cached


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A request, the episode that it continues, and the tokens it may draw."""

    request: Request
    episode: CachedEpisode
    budget: int


@dataclass(slots=True)
class DecodingBatch:
    """Row i of every tensor belongs to `jobs[i]`, whose keys and values are in cache row i. Tensors
    are (rows,), where not said otherwise; `draws`, `ids` and `logprobs` are (rows, columns)."""

    jobs: list[Job]
    last: Tensor
    """The id that is fed next."""
    position: Tensor
    budget: Tensor
    temperature: Tensor
    top_p: Tensor
    top_k: Tensor
    min_p: Tensor
    draws: Tensor
    stops: Tensor
    """Which stop table holds for the row."""
    alive: Tensor
    count: Tensor
    ids: Tensor
    """Drawn so far, as are `logprobs`."""
    logprobs: Tensor
    greedy: bool
    whole: bool
    """No row cuts its distribution with `top_p`, `top_k` or `min_p`."""
    matchers: list[Any]
    """Of the rows that a grammar constrains; else None."""
    masks: GrammarMasks | None = None

    @classmethod
    def start(
        cls,
        jobs: list[Job],
        stops: Sequence[tuple[str, ...]],
        device: Any,
        masks: GrammarMasks | None = None,
    ) -> "DecodingBatch":
        """Return the rows before their first token; `stops` lists the tables."""
        count, columns = len(jobs), max(job.budget for job in jobs)
        samplings = [job.request.sampling for job in jobs]
        draws = np.zeros((count, columns))
        for i, job in enumerate(jobs):
            if samplings[i].temperature:
                # All draws of the turn at once, from the request's key: whatever rows are decoded
                # beside it, and in whatever order they finish, a row draws the same tokens.
                draws[i, : job.budget] = uniforms(job.request, job.budget)

        def each(values: Sequence[Any], dtype: torch.dtype = torch.long) -> Tensor:
            return torch.tensor(values, dtype=dtype, device=device)

        return cls(
            jobs=jobs,
            last=each([job.episode.ids[-1] for job in jobs]),
            position=each([job.episode.cached for job in jobs]),
            budget=each([job.budget for job in jobs]),
            temperature=each([s.temperature for s in samplings], torch.float32),
            # In double precision, as the cumulative sum over the vocabulary that it is compared
            # with.
            top_p=each([s.top_p for s in samplings], torch.float64),
            top_k=each([s.top_k for s in samplings]),
            min_p=each([s.min_p for s in samplings], torch.float32),
            draws=torch.as_tensor(draws, device=device),
            stops=each([stops.index(job.request.stop) for job in jobs]),
            alive=torch.ones(count, dtype=torch.bool, device=device),
            count=torch.zeros(count, dtype=torch.long, device=device),
            ids=torch.zeros((count, columns), dtype=torch.long, device=device),
            logprobs=torch.zeros((count, columns), device=device),
            # Known once per batch: a greedy batch needs no cumulative sum at each step, and one
            # without cuts no sort of the vocabulary.
            greedy=not any(s.temperature for s in samplings),
            whole=not any(s.cuts for s in samplings),
            matchers=[_matcher(job.request.grammar, masks) for job in jobs],
            masks=masks,
        )

    def join(self, other: "DecodingBatch") -> "DecodingBatch":
        """Return the rows of both, the other's behind; of the same list of stop tables."""

        def both(one: Tensor, two: Tensor) -> Tensor:
            if one.dim() > 1:
                columns = max(one.shape[1], two.shape[1])
                one, two = (pad(side, (0, columns - side.shape[1])) for side in (one, two))
            return torch.cat((one, two))

        return replace(
            self,
            jobs=[*self.jobs, *other.jobs],
            matchers=[*self.matchers, *other.matchers],
            masks=self.masks or other.masks,
            greedy=self.greedy and other.greedy,
            whole=self.whole and other.whole,
            **{name: both(value, getattr(other, name)) for name, value in self._tensors.items()},
        )

    @property
    def _tensors(self) -> dict[str, Tensor]:
        return {
            name: value
            for name in self.__slots__
            if isinstance(value := getattr(self, name), Tensor)
        }

    def take(self, order: Tensor) -> "DecodingBatch":
        """These rows, in this order."""
        tensors = {name: value.index_select(0, order) for name, value in self._tensors.items()}
        places: list[int] = to_list(order)
        matchers = [self.matchers[i] for i in places]
        return replace(self, jobs=[self.jobs[i] for i in places], matchers=matchers, **tensors)

    def advance(self, logits: Tensor, tables: Tensor, stop_tokens: StopTokens) -> None:
        """Draw the next token of every row that is not done, from (rows, vocab); note which are."""
        rows = self.alive.nonzero().squeeze(1)
        logits = logits[rows]
        count, stops = self.count[rows], self.stops[rows]
        draws = None if self.greedy else self.draws[rows, count]
        cut = None if self.whole else Cut(self.top_p[rows], self.top_k[rows], self.min_p[rows])
        matchers = [self.matchers[row] for row in to_list(rows)] if any(self.matchers) else []
        constrain = partial(self.masks.apply, matchers) if self.masks and any(matchers) else None
        token, logprob = draw(logits, draws, self.temperature[rows], cut, constrain)
        self.ids[rows, count] = token
        self.logprobs[rows, count] = logprob
        self.last[rows] = token
        self.count[rows] += 1
        self.position[rows] += 1
        kind = tables[stops, token]
        done = (kind == ENDS) | (count + 1 >= self.budget[rows])
        unsure = kind == MAY_END
        # The tables settle almost every token on the device; only one that may complete a stop
        # string costs a decoding of text.
        if bool(unsure.any()):
            places: list[int] = to_list(unsure.nonzero().squeeze(1))
            for place in places:
                row = int(rows[place])
                drawn: list[int] = to_list(self.ids[row, : int(self.count[row])])
                stop = self.jobs[row].request.stop
                done[place] |= stop_tokens.complete_action(drawn, stop)
        self.alive[rows] = ~done
        if constrain is not None:
            for matcher, drawn in zip(matchers, to_list(token), strict=True):
                if matcher is not None:
                    matcher.accept_token(drawn)

    def finished_rows(self) -> list[tuple[Job, int, list[int], tuple[float, ...]]]:
        """Return (job, position, ids, log-probabilities) of each row that is done."""
        ids, logprobs = to_list(self.ids), to_list(self.logprobs)
        facts = zip(
            self.jobs, to_list(self.position), to_list(self.count), to_list(self.alive), strict=True
        )
        return [
            (job, position, ids[i][:count], tuple(logprobs[i][:count]))
            for i, (job, position, count, on) in enumerate(facts)
            if not on
        ]


def to_list(tensor: Any) -> list[Any]:
    """Return a tensor as Python lists."""
    return tensor.tolist()


def _matcher(grammar: str, masks: GrammarMasks | None) -> Any:
    return masks.matcher(grammar) if grammar and masks else None
