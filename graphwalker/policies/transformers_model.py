"""A local causal language model as a policy: batched, its KV cache kept across an episode's turns.

Token-in, token-out: an episode's ids are never re-made from text. A request brings new messages;
only these are tokenised and fed. The same engine evaluates models and makes GRPO's rollouts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Completion, Request
from graphwalker.policies.kv_cache import Placement, RowCache
from graphwalker.policies.sampling import ENDS, MAY_END, StopTokens, draw, uniforms
from graphwalker.tokens import ChatFormat, end_of_turn_id, extension_ids, prompt_ids
from graphwalker.trajectory import Message

PREFILL_TOKENS = 4096
"""Tokens of one prefill pass, padding included."""
COMPACT_BELOW = 0.75
"""Finished rows leave the batch when the share of unfinished ones falls below this."""
STOP_TAIL = 32
"""Tokens that are decoded to look for a stop string which spans several tokens."""


@dataclass(slots=True, eq=False)
class _Episode:
    key: str
    row: int
    ids: list[int] = field(default_factory=list)
    cached: int = 0
    """The first `cached` ids have their keys and values in the cache."""
    messages: tuple[Message, ...] = ()

    @property
    def pending(self) -> int:
        """Ids to prefill; the last one is left for the first decoding step."""
        return len(self.ids) - 1 - self.cached


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    request: Request
    episode: _Episode
    budget: int


@dataclass(slots=True)
class _Batch:
    """The rows being decoded: row i of every tensor belongs to `jobs[i]`, in cache row i."""

    jobs: list[_Job]
    token: Tensor
    position: Tensor
    left: Tensor
    temperature: Tensor
    top_p: Tensor | None
    draws: Tensor | None
    stops: Tensor
    """Row of the stacked stop tables."""
    alive: Tensor
    ids: Tensor
    logprobs: Tensor
    count: Tensor

    def take(self, order: Tensor) -> "_Batch":
        tensors = {
            name: value.index_select(0, order)
            for name in self.__slots__
            if isinstance(value := getattr(self, name), Tensor)
        }
        return replace(self, jobs=[self.jobs[i] for i in order.tolist()], **tensors)


class TransformersPolicy:
    """Completes all submitted requests as batches of at most `batch_size` rows.

    `max_context` bounds the tokens of an episode: a completion that meets it, or has no room at
    all, finishes with `length`. `temperature` and the other settings come with each request.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        fmt: ChatFormat,
        *,
        batch_size: int = 256,
        max_context: int | None = None,
        name: str = "transformers",
    ) -> None:
        _check_attention(model)
        self.name, self.model, self.tokenizer, self.fmt = name, model, tokenizer, fmt
        self.batch_size = batch_size
        self.max_context = max_context or int(model.config.max_position_embeddings)
        self.generated_tokens = 0
        self._end_of_turn = end_of_turn_id(fmt, tokenizer)
        self._end_ids = _end_ids(model, tokenizer) | {self._end_of_turn}
        self._stops = StopTokens(tokenizer, self._end_ids, model.config.vocab_size)
        self._waiting: dict[str, Request] = {}
        self._episodes: dict[str, _Episode] = {}
        self._owners: list[_Episode | None] = []
        self._cache = RowCache(model.config.num_hidden_layers)
        self._mask = torch.empty(0)

    def submit(self, request: Request) -> None:
        if request.key in self._waiting:
            raise PolicyError(f"episode {request.key!r} already waits for a completion")
        self._waiting[request.key] = request

    def collect(self) -> list[tuple[str, Completion | PolicyError]]:
        requests, self._waiting = list(self._waiting.values()), {}
        results: list[tuple[str, Completion | PolicyError]] = []
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode():
                for start in range(0, len(requests), self.batch_size):
                    results += self._complete(requests[start : start + self.batch_size])
        finally:
            self.model.train(training)
        return results

    def release(self, key: str) -> None:
        self._waiting.pop(key, None)
        episode = self._episodes.pop(key, None)
        if episode is not None:
            self._owners[episode.row] = None

    # --- one batch of requests

    def _complete(self, requests: Sequence[Request]) -> list[tuple[str, Completion | PolicyError]]:
        prompts: dict[tuple[Message, ...], list[int]] = {}
        jobs = [self._job(request, prompts) for request in requests]
        results: list[tuple[str, Completion | PolicyError]] = [
            (job.request.key, Completion("", "length", prompt_tokens=len(job.episode.ids)))
            for job in jobs
            if job.budget <= 0
        ]
        jobs = [job for job in jobs if job.budget > 0]
        if jobs:
            self._prefill([job.episode for job in jobs])
            results += self._decode(jobs)
        return results

    def _job(self, request: Request, prompts: dict[tuple[Message, ...], list[int]]) -> _Job:
        """Bring the episode's ids up to the place where the model must write."""
        episode = self._episodes.get(request.key) or self._new_episode(request.key)
        known, messages = episode.messages, request.messages
        if known and not request.restart and messages[: len(known)] == known:
            episode.ids += extension_ids(messages[len(known) :], self.fmt, self.tokenizer)
        else:
            if messages not in prompts:
                prompts[messages] = prompt_ids(messages, self.fmt, self.tokenizer)
            episode.ids, episode.cached = list(prompts[messages]), 0
        episode.messages = messages
        room = self.max_context - len(episode.ids) - 1
        return _Job(request, episode, min(request.sampling.max_tokens, room))

    def _new_episode(self, key: str) -> _Episode:
        if None in self._owners:
            row = self._owners.index(None)
        else:
            row = len(self._owners)
            self._owners.append(None)
        self._owners[row] = self._episodes[key] = _Episode(key, row)
        return self._episodes[key]

    # --- prefill

    def _prefill(self, episodes: Sequence[_Episode]) -> None:
        """Feed all pending ids; episodes that begin with the same ids share one computation."""
        leaders: dict[tuple[int, ...], _Episode] = {}
        copies: list[tuple[_Episode, _Episode]] = []
        todo: list[_Episode] = []
        for episode in episodes:
            leader = leaders.setdefault(tuple(episode.ids), episode) if not episode.cached else None
            if leader is None or leader is episode:
                todo.append(episode)
            else:
                copies.append((leader, episode))
        todo = sorted((e for e in todo if e.pending > 0), key=lambda e: -e.pending)
        while todo:
            length = min(todo[0].pending, PREFILL_TOKENS)
            rows = max(1, PREFILL_TOKENS // length)
            for _ in range(-(-todo[0].pending // length)):
                self._feed([e for e in todo[:rows] if e.pending > 0], length)
            todo = todo[rows:]
        pairs = [(leader.row, episode.row) for leader, episode in copies]
        self._cache.move(pairs, max((e.cached for e, _ in copies), default=0), swap=False)
        for leader, episode in copies:
            episode.cached = leader.cached

    def _feed(self, episodes: Sequence[_Episode], length: int) -> None:
        """One pass over the next ids of each episode, at most `length`."""
        device = self.model.device
        counts = [min(e.pending, length) for e in episodes]
        ids = np.zeros((len(episodes), max(counts)), dtype=np.int64)
        for i, (episode, count) in enumerate(zip(episodes, counts, strict=True)):
            ids[i, :count] = episode.ids[episode.cached : episode.cached + count]
        start = torch.tensor([e.cached for e in episodes], device=device)
        offset = torch.arange(ids.shape[1], device=device)
        position = start[:, None] + offset
        width = max(e.cached + count for e, count in zip(episodes, counts, strict=True))
        rows = torch.tensor([e.row for e in episodes], device=device)
        valid = offset < torch.tensor(counts, device=device)[:, None]
        self._cache.place(Placement(rows, position, valid, width, (len(self._owners), width)))
        hidden = torch.arange(width, device=device) > position[:, :, None]
        mask = torch.zeros(hidden.shape, dtype=self.model.dtype, device=device)
        mask.masked_fill_(hidden, torch.finfo(self.model.dtype).min)
        self._forward(torch.from_numpy(ids).to(device), position, mask[:, None])
        for episode, count in zip(episodes, counts, strict=True):
            episode.cached += count

    def _forward(self, ids: Tensor, position: Tensor, mask: Tensor) -> Tensor:
        output = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=position,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    # --- decode

    def _decode(self, jobs: list[_Job]) -> list[tuple[str, Completion | PolicyError]]:
        results: list[tuple[str, Completion | PolicyError]] = []
        stops = list(dict.fromkeys(job.request.stop for job in jobs))
        tables = torch.stack([self._stops.table(stop) for stop in stops]).to(self.model.device)
        batch = self._start(self._arrange(jobs), stops)
        while True:
            self._step(batch, tables)
            alive = int(batch.alive.sum())
            if not alive:
                return results + self._harvest(batch)
            if alive < COMPACT_BELOW * len(batch.jobs):
                results += self._harvest(batch)
                batch = self._compact(batch)

    def _arrange(self, jobs: list[_Job]) -> list[_Job]:
        """Move the jobs' rows to the front of the cache; returns the jobs in row order."""
        wanted = {job.episode.row for job in jobs}
        holes = [row for row in range(len(jobs)) if row not in wanted]
        movers = [job.episode for job in jobs if job.episode.row >= len(jobs)]
        pairs = [(episode.row, hole) for episode, hole in zip(movers, holes, strict=True)]
        others = [self._owners[hole] for hole in holes]
        width = max((e.cached for e in [*movers, *others] if e is not None), default=0)
        self._cache.move(pairs, width, swap=any(other is not None for other in others))
        for episode, other, (row, hole) in zip(movers, others, pairs, strict=True):
            self._owners[hole], self._owners[row] = episode, other
            episode.row = hole
            if other is not None:
                other.row = row
        return sorted(jobs, key=lambda job: job.episode.row)

    def _start(self, jobs: list[_Job], stops: list[tuple[str, ...]]) -> _Batch:
        device, count = self.model.device, len(jobs)
        steps = max(job.budget for job in jobs)
        samplings = [job.request.sampling for job in jobs]
        draws = None
        if any(s.temperature for s in samplings):
            table = np.zeros((count, steps + 1))
            for i, job in enumerate(jobs):
                if samplings[i].temperature:
                    table[i, : job.budget] = uniforms(job.request, job.budget)
            draws = torch.from_numpy(table).to(device)
        top_p = torch.tensor([s.top_p for s in samplings], device=device)
        position = torch.tensor([job.episode.cached for job in jobs], device=device)
        self._reset_mask(position, steps)
        return _Batch(
            jobs=jobs,
            token=torch.tensor([job.episode.ids[-1] for job in jobs], device=device),
            position=position,
            left=torch.tensor([job.budget for job in jobs], device=device),
            temperature=torch.tensor([float(s.temperature) for s in samplings], device=device),
            top_p=top_p if bool((top_p < 1).any()) else None,
            draws=draws,
            stops=torch.tensor([stops.index(job.request.stop) for job in jobs], device=device),
            alive=torch.ones(count, dtype=torch.bool, device=device),
            ids=torch.zeros((count, steps + 1), dtype=torch.long, device=device),
            logprobs=torch.zeros((count, steps + 1), device=device),
            count=torch.zeros(count, dtype=torch.long, device=device),
        )

    def _reset_mask(self, position: Tensor, steps: int) -> None:
        width = int(position.max()) + steps + 1
        slots = torch.arange(width, device=position.device)
        self._mask = torch.zeros(
            (len(position), width), dtype=self.model.dtype, device=position.device
        ).masked_fill_(slots >= position[:, None], torch.finfo(self.model.dtype).min)

    def _step(self, batch: _Batch, tables: Tensor) -> None:
        """Feed one token to every row, draw the next, and note which rows are done.

        A finished row keeps overwriting the slot and the column after its last, which nobody reads.
        """
        rows = torch.arange(len(batch.jobs), device=batch.token.device)
        width = int(batch.position.max()) + 1
        self._mask[rows, batch.position] = 0
        size = (len(self._owners), width)
        self._cache.place(Placement(None, batch.position[:, None], None, width, size))
        logits = self._forward(
            batch.token[:, None], batch.position[:, None], self._mask[:, None, None, :width]
        )
        draws = None if batch.draws is None else batch.draws[rows, batch.count]
        token, logprob = draw(logits, draws, batch.temperature, batch.top_p)
        batch.ids[rows, batch.count] = token
        batch.logprobs[rows, batch.count] = logprob
        batch.token = token
        batch.count += batch.alive
        batch.position += batch.alive
        kind = tables[batch.stops, token]
        done = (kind == ENDS) | (batch.count >= batch.left)
        if bool(((kind == MAY_END) & batch.alive).any()):
            self._look_for_stops(batch, kind, done)
        batch.alive &= ~done

    def _look_for_stops(self, batch: _Batch, kind: Tensor, done: Tensor) -> None:
        for i in ((kind == MAY_END) & batch.alive).nonzero().flatten().tolist():
            count = int(batch.count[i])
            tail = batch.ids[i, max(0, count - STOP_TAIL) : count].tolist()
            if self._stops.reached(tail, batch.jobs[i].request.stop):
                done[i] = True

    def _compact(self, batch: _Batch) -> _Batch:
        """Only the unfinished rows, moved to the front of the cache."""
        for job, position in zip(batch.jobs, batch.position.tolist(), strict=True):
            job.episode.cached = position
        before = {id(job): i for i, job in enumerate(batch.jobs)}
        alive = [job for job, on in zip(batch.jobs, batch.alive.tolist(), strict=True) if on]
        order = torch.tensor([before[id(job)] for job in self._arrange(alive)])
        order = order.to(batch.token.device)
        self._mask = self._mask.index_select(0, order)
        return batch.take(order)

    def _harvest(self, batch: _Batch) -> list[tuple[str, Completion | PolicyError]]:
        """The completions of the finished rows; their episodes take the ids over."""
        ids, logprobs = batch.ids.cpu().numpy(), batch.logprobs.cpu().numpy()
        counts, positions = batch.count.tolist(), batch.position.tolist()
        results: list[tuple[str, Completion | PolicyError]] = []
        for i in batch.alive.logical_not().nonzero().flatten().tolist():
            job, count = batch.jobs[i], counts[i]
            job.episode.cached = positions[i]
            completion = self._completion(
                job, ids[i, :count].tolist(), tuple(logprobs[i, :count].tolist())
            )
            self.generated_tokens += count
            results.append((job.request.key, completion))
        return results

    def _completion(self, job: _Job, ids: list[int], logprobs: tuple[float, ...]) -> Completion:
        request, episode = job.request, job.episode
        ended = ids[-1] in self._end_ids
        text = self.tokenizer.decode(
            ids[:-1] if ended else ids,
            skip_special_tokens=False,
            clean_up_tokenization_spaces=False,
        )
        cuts = [text.index(s) + len(s) for s in request.stop if s in text]
        text = text[: min(cuts)] if cuts else text
        prompt_tokens = len(episode.ids)
        if ids[-1] != self._end_of_turn:
            ids = [*ids, self._end_of_turn]
        episode.ids += ids
        episode.messages = (*episode.messages, Message("assistant", text))
        finish = "stop" if ended or cuts else "length"
        return Completion(text, finish, tuple(ids), logprobs, prompt_tokens)


def _check_attention(model: Any) -> None:
    kinds = set(getattr(model.config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"}:
        other = ", ".join(sorted(kinds - {"full_attention"}))
        raise UserError(f"the transformers engine needs full attention layers; this has {other}")
    attention = getattr(model.config, "_attn_implementation", "eager")
    if attention not in ("sdpa", "eager"):
        raise UserError(f"the transformers engine needs attention sdpa or eager, not {attention}")


def _end_ids(model: Any, tokenizer: Any) -> set[int]:
    eos = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    listed = eos if isinstance(eos, list) else [eos]
    return {int(i) for i in [*listed, tokenizer.eos_token_id] if i is not None}
