"""A local causal language model as a policy: batched, its KV cache kept across an episode's turns.

Token-in, token-out: an episode's ids are never re-made from text. A request brings new messages;
only these are tokenised and fed. The same engine evaluates models and makes GRPO's rollouts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphwalker.errors import PolicyError, UserError
from graphwalker.policies.base import Completion, Request, Result
from graphwalker.policies.local.constraint import GrammarMasks
from graphwalker.policies.local.decoding import CachedEpisode, DecodingBatch, Job, to_list
from graphwalker.policies.local.kv_cache import Placement, RowCache, shared_heads_read_once
from graphwalker.policies.local.sampling import StopTokens
from graphwalker.policies.token_record import TurnEnds
from graphwalker.tokens.formats import ChatFormat
from graphwalker.tokens.segments import extension_ids, prompt_ids
from graphwalker.trajectory import Message
from graphwalker.workers.pool import count_work

PREFILL_TOKENS = 4096
"""Tokens of one prefill pass, padding included."""
OPENING = 64
"""Ids that two episodes must have in common for the first's keys and values to be copied."""
PADDING = 128
"""Padding of one prefill pass: more of it costs more than another pass."""
COMPACT_BELOW = 0.75
"""Finished rows leave the batch when the share of unfinished ones falls below this, and others take
their place: where all turns of a batch were waited for, most steps drew for a few long ones."""


class TransformersPolicy:
    """Decodes at most `batch_size` of the submitted requests at once; one that is done makes room
    for the next, whatever is still written beside it.

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
        self._ends = TurnEnds.of(tokenizer, fmt, getattr(model, "generation_config", None))
        self._stops = StopTokens(self._ends, model.config.vocab_size)
        self._masks: GrammarMasks | None = None
        self._waiting: dict[str, Request] = {}
        self._episodes: dict[str, CachedEpisode] = {}
        self._owners: list[CachedEpisode | None] = []
        self._cache = RowCache(model.config.num_hidden_layers)
        self._stop_kinds: list[tuple[str, ...]] = []
        """Those of all requests so far, in the order of their tables."""
        self._batch: DecodingBatch | None = None
        """The rows that are being written, in the first rows of the cache."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def submit(self, request: Request) -> None:
        if request.key in self._waiting or request.key in self._written_keys():
            raise PolicyError(f"episode {request.key!r} already waits for a completion")
        self._waiting[request.key] = request

    def collect(self) -> list[Result]:
        training = self.model.training
        self.model.eval()
        try:
            with torch.inference_mode(), shared_heads_read_once(self.model):
                results: list[Result] = []
                while not results and (self._waiting or self._batch):
                    results = self._admit()
                    results += self._decode()
                return results
        except BaseException:
            self._batch = None  # the caller's episodes are lost, and rows half written with them
            self._waiting = {}
            raise
        finally:
            self.model.train(training)

    def release(self, key: str) -> None:
        self._waiting.pop(key, None)
        if self._batch is not None and key in self._written_keys():
            left = [i for i, job in enumerate(self._batch.jobs) if job.request.key != key]
            with torch.inference_mode():
                self._batch = self._compact(self._batch, left) if left else None
        episode = self._episodes.pop(key, None)
        if episode is not None:
            self._owners[episode.row] = None

    def free(self) -> None:
        """Give the memory of the cache back; episodes that were not released are forgotten."""
        self._episodes.clear()
        self._owners.clear()
        self._batch = None
        self._cache = RowCache(self.model.config.num_hidden_layers)

    def _written_keys(self) -> set[str]:
        return {job.request.key for job in self._batch.jobs} if self._batch is not None else set()

    # --- requests into the batch

    def _admit(self) -> list[Result]:
        """Let as many requests in as there is room for, in the order in which they came; returns
        those that have no room for a token."""
        keys = list(self._waiting)[: self.batch_size - len(self._written_keys())]
        prompts: dict[tuple[Message, ...], list[int]] = {}
        jobs = [self._job(self._waiting.pop(key), prompts) for key in keys]
        results: list[Result] = [
            (job.request.key, Completion("", "length", prompt_tokens=len(job.episode.ids)))
            for job in jobs
            if job.budget <= 0
        ]
        jobs = [job for job in jobs if job.budget > 0]
        if jobs:
            self._prefill([job.episode for job in jobs])
            for job in jobs:
                if job.request.stop not in self._stop_kinds:
                    self._stop_kinds.append(job.request.stop)
            if self._masks is None and any(job.request.grammar for job in jobs):
                ends, size = self._ends.end_ids, self.model.config.vocab_size
                self._masks = GrammarMasks(self.tokenizer, size, ends)
            batch = DecodingBatch.start(jobs, self._stop_kinds, self.model.device, self._masks)
            if self._batch is not None:
                batch = self._batch.join(batch)
            self._batch = self._compact(batch, range(len(batch.jobs)))
        return results

    def _job(self, request: Request, prompts: dict[tuple[Message, ...], list[int]]) -> Job:
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
        return Job(request, episode, min(request.sampling.max_tokens, room))

    def _new_episode(self, key: str) -> CachedEpisode:
        if None in self._owners:
            row = self._owners.index(None)
        else:
            row = len(self._owners)
            self._owners.append(None)
        self._owners[row] = self._episodes[key] = CachedEpisode(key, row)
        return self._episodes[key]

    # --- prefill

    def _prefill(self, episodes: Sequence[CachedEpisode]) -> None:
        """Feed all pending ids. Episodes that begin with the same ids share one computation; so do
        those that begin with the same prompt, which is copied from an episode in the cache."""
        begun = [e for e in episodes if e.cached]
        same: dict[tuple[int, ...], list[CachedEpisode]] = {}
        for episode in episodes:
            if not episode.cached:
                same.setdefault(tuple(episode.ids), []).append(episode)
        self._copy_prompts([group[0] for group in same.values()])
        self._feed_pending([*begun, *(group[0] for group in same.values())])
        for leader, *others in same.values():
            self._copy([(leader, other, leader.cached) for other in others])

    def _copy_prompts(self, episodes: Sequence[CachedEpisode]) -> None:
        known = {tuple(e.ids[:OPENING]): e for e in self._episodes.values() if e.cached >= OPENING}
        groups: dict[tuple[int, ...], list[CachedEpisode]] = {}
        for episode in episodes:
            groups.setdefault(tuple(episode.ids[:OPENING]), []).append(episode)
        for opening, group in groups.items():
            if opening not in known and len(group) > 1:
                known[opening] = group.pop(0)
                self._feed_pending([known[opening]])
            if source := known.get(opening):
                self._copy([(source, other, _count_shared(source, other)) for other in group])

    def _copy(self, pairs: Sequence[tuple[CachedEpisode, CachedEpisode, int]]) -> None:
        """Copy the first so many slots of one episode's row to another's."""
        width = max((count for _, _, count in pairs), default=0)
        if width:
            self._cache.make_room(len(self._owners), width, self.max_context)
            self._cache.move([(e.row, other.row) for e, other, _ in pairs], width, swap=False)
        for _, other, count in pairs:
            other.cached = count

    def _feed_pending(self, episodes: Sequence[CachedEpisode]) -> None:
        todo = sorted((e for e in episodes if e.pending > 0), key=lambda e: -e.pending)
        while todo:
            length = min(todo[0].pending, PREFILL_TOKENS)
            rows = _alike([e.pending for e in todo[: max(1, PREFILL_TOKENS // length)]])
            for _ in range(-(-todo[0].pending // length)):
                self._feed([e for e in todo[:rows] if e.pending > 0], length)
            todo = todo[rows:]

    def _feed(self, episodes: Sequence[CachedEpisode], length: int) -> None:
        """Run one pass over the next ids of each episode, at most `length`."""
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
        self._cache.place(self._placement(rows, position, valid, width))
        self._forward(torch.as_tensor(ids, device=device), position, width)
        count_work(read=sum(counts))
        for episode, count in zip(episodes, counts, strict=True):
            episode.cached += count

    def _placement(
        self, rows: Tensor | None, slots: Tensor, valid: Tensor | None, width: int
    ) -> Placement:
        size = (len(self._owners), width)
        return Placement(rows, slots, valid, width, size, self.max_context)

    def _forward(self, ids: Tensor, position: Tensor, width: int) -> Tensor:
        """Return the logits after the last id, (rows, vocab); each id sees its own past."""
        hidden = torch.arange(width, device=ids.device) > position[:, :, None]
        mask = torch.zeros(hidden.shape, dtype=self.model.dtype, device=ids.device)
        return self.model(
            input_ids=ids,
            attention_mask=mask.masked_fill_(hidden, torch.finfo(mask.dtype).min)[:, None],
            position_ids=position,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        ).logits[:, -1]

    # --- decode

    def _decode(self) -> list[Result]:
        """Draw until enough rows are done, and let these go."""
        batch, results = self._batch, list[Result]()
        if batch is None:
            return results
        kinds = [self._stops.table(stop) for stop in self._stop_kinds]
        tables = torch.stack(kinds).to(self.model.device)
        alive = len(batch.jobs)
        while alive >= COMPACT_BELOW * len(batch.jobs):
            batch.advance(self._next_logits(batch), tables, self._stops)
            count_work(written=alive)
            alive = int(batch.alive.sum())
        results = [self._finish(*row) for row in batch.finished_rows()]
        left = [i for i, on in enumerate(to_list(batch.alive)) if on]
        self._batch = self._compact(batch, left) if left else None
        return results

    def _arrange(self, jobs: list[Job]) -> list[Job]:
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

    def _next_logits(self, batch: DecodingBatch) -> Tensor:
        position = batch.position[:, None]
        width = int(position.max()) + 1
        self._cache.place(self._placement(None, position, None, width))
        return self._forward(batch.last[:, None], position, width)

    def _compact(self, batch: DecodingBatch, left: Sequence[int]) -> DecodingBatch:
        """Keep only these rows of the batch, in the first rows of the cache."""
        positions = to_list(batch.position)
        for i in left:
            batch.jobs[i].episode.cached = positions[i]
        before = {id(batch.jobs[i]): i for i in left}
        arranged = self._arrange([batch.jobs[i] for i in left])
        order = torch.tensor([before[id(job)] for job in arranged])
        return batch.take(order.to(batch.last.device))

    def _finish(
        self, job: Job, position: int, ids: list[int], logprobs: tuple[float, ...]
    ) -> Result:
        """Return the completion of a row; its episode takes the ids over."""
        request, episode = job.request, job.episode
        completion = self._ends.completion(ids, logprobs, request.stop, len(episode.ids))
        episode.cached = position
        episode.ids += completion.token_ids or ()
        episode.messages = (*episode.messages, Message("assistant", completion.text))
        return request.key, completion


def _count_shared(one: CachedEpisode, other: CachedEpisode) -> int:
    """Get the ids that both begin with and that are in the cache; the other's last one is left."""
    most = min(one.cached, len(one.ids), len(other.ids) - 1)
    pairs = zip(one.ids[:most], other.ids, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), most)


def _alike(lengths: Sequence[int]) -> int:
    """Return how many of these, which fall, are fed together."""
    padding = 0
    for number, length in enumerate(lengths):
        padding += lengths[0] - length
        if padding > PADDING:
            return number
    return len(lengths)


def _check_attention(model: Any) -> None:
    kinds = set(getattr(model.config, "layer_types", None) or ["full_attention"])
    if kinds != {"full_attention"}:
        other = ", ".join(sorted(kinds - {"full_attention"}))
        raise UserError(f"the transformers engine needs full attention layers; this has {other}")
    attention = getattr(model.config, "_attn_implementation", "eager")
    if attention not in ("sdpa", "eager"):
        raise UserError(f"the transformers engine needs attention sdpa or eager, not {attention}")
