"""Mutation check: each small change of meaning must be caught by the tests nearest to it.

    python -m benchmarks.mutations                  # all; --only scoring, --list

Verdicts are kept in `runs/mutations/`: a run that was stopped continues, and survivors are tried
again.
"""

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.mutant_tests import ROOT, VERDICTS, Copy, Verdict, Verdicts, tried
from benchmarks.record import RESULTS, record
from graphwalker.errors import UserError

T = "tests/graphwalker"
D = "tests/data_pipeline"
E = "tests/eval"


@dataclass(frozen=True)
class Mutation:
    """A text that stands once in a file, what is put in its place, and the tests that must fail."""

    file: str
    old: str
    new: str
    tests: str

    @property
    def name(self) -> str:
        return f"{Path(self.file).stem}: {self.old.strip()[:44]!r} -> {self.new.strip()[:44]!r}"

    def text(self) -> str:
        return (ROOT / self.file).read_text(encoding="utf-8").replace(self.old, self.new)


SCORING, METRICS = f"{T}/test_scoring.py", f"{E}/test_eval_metrics.py"
INTERVALS = f"{E}/test_eval_metrics.py {E}/test_compare.py {E}/score/test_score_clusters.py"
WALKS = f"{D}/walks {D}/verification/test_verify.py"
FLATTEN = f"{T}/graphs/views/test_graphs_flatten.py {T}/graphs/endpoints/test_conformance.py"
SPARQL = f"{T}/graphs/endpoints"
TOKENS = f"{T}/tokens/test_tokens.py {T}/tokens/test_tokens_formats.py"
REWARDS = "tests/training/reinforce/test_rewards.py"
EPISODES = "tests/training/reinforce/test_grpo_restarts.py tests/training/reinforce/test_grpo.py"
DOCTESTS = "tests/test_doctests.py"
MECHANISMS = (
    "tests/training/reinforce/test_rewards.py tests/training/reinforce/test_grpo_options.py"
)
MUTATIONS = (
    # Those that survived the default tests when they were first tried.
    Mutation(
        "graphwalker/graphs/open.py",
        'name = f"{spec} {endpoint.get(\'default_graph\', \'\')} {graph.vocabulary}"',
        "name = spec",
        f"{T}/graphs/test_open_graph.py",
    ),
    Mutation(
        "graphwalker/graphs/sparql/answers.py",
        "rows >= int(limit)",
        "rows > int(limit)",
        f"{SPARQL}/test_endpoint_answers.py",
    ),
    Mutation(
        "training/reinforce/rows/logps.py",
        "logits.float() / temperature",
        "logits.float()",
        "tests/training/reinforce/test_grpo_loss.py",
    ),
    Mutation("eval/intervals.py", "ends = (0.025, 0.975)", "ends = (0.05, 0.95)", INTERVALS),
    Mutation("eval/intervals.py", "return (level(-Z95), level(Z95))",
             "return (level(-1.645), level(1.645))", INTERVALS),
    Mutation("eval/intervals.py", "Z95 = 1.959963984540054", "Z95 = 1.6448536269514722", INTERVALS),
    Mutation(
        "data_pipeline/contamination/ngrams.py",
        "max(1, len(words) - WORDS + 1)",
        "max(1, len(words) - WORDS)",
        f"{D}/contamination/test_contamination.py",
    ),
    Mutation("data_pipeline/certificates.py", "len(answers) > max_answers",
             "len(answers) >= max_answers", WALKS),
    Mutation("data_pipeline/certificates.py", "run.widest > max_frontier",
             "run.widest >= max_frontier", WALKS),
    Mutation("data_pipeline/walks/sampler.py", "max(2, self.rules.min_degree)",
             "max(1, self.rules.min_degree)", WALKS),
    Mutation("data_pipeline/jobs/shards.py", "self._shard.numbers(self.tried[structure])",
             "self._shard.numbers(self.tried[structure] + 1)", f"{D}/test_shards.py"),
    Mutation("graphwalker/policies/chat/connection.py",
             '{"x-should-retry", "retry-after", "retry-after-ms"}', '{"x-should-retry"}',
             f"{T}/policies/test_chat_api.py"),
    # Scoring.
    Mutation("graphwalker/scoring.py", "if not 0 < k <= n", "if not 0 <= k <= n", SCORING),
    Mutation("graphwalker/scoring.py", "comb(n - c, k) / comb(n, k)", "(1 - c / n) ** k", SCORING),
    Mutation("graphwalker/scoring.py", '"hit_any": float(match.found > 0)',
             '"hit_any": float(match.found > 1)', SCORING),
    Mutation("graphwalker/scoring.py", "self.wrong == 0 and self.found == self.gold",
             "self.found == self.gold", SCORING),
    Mutation("graphwalker/scoring.py", "if predicted else float(self.gold == 0)",
             "if predicted else 0.0", SCORING),
    Mutation("graphwalker/scoring.py", "if self.gold else float(self.wrong == 0)",
             "if self.gold else 1.0", SCORING),
    Mutation("graphwalker/scoring.py", "hits = [i for i in hits if not gold.ids[i]]", "pass",
             SCORING),
    Mutation("graphwalker/scoring.py", "elif rank == 0:", "else:", SCORING),
    Mutation("graphwalker/scoring.py", "wrong.add(id_ or name)", "wrong.add(name)", SCORING),
    Mutation("graphwalker/scoring.py", "(answer.name, *answer.aliases)", "(answer.name,)", SCORING),
    Mutation("graphwalker/scoring.py", '"" if entity_id.startswith(\'"\') else entity_id',
             "entity_id", SCORING),
    Mutation("graphwalker/scoring.py", 'float(had_error and scores["em"] == 1.0)',
             'float(scores["em"] == 1.0)', SCORING),
    # Intervals and paired tests.
    Mutation("eval/intervals.py", "low = 0.0 if successes == 0 else max(0.0, centre - half)",
             "low = max(0.0, centre - half) + 1e-6", INTERVALS),
    Mutation("eval/intervals.py", "scale = 1 + Z95**2 / n", "scale = 1 + Z95 / n", INTERVALS),
    Mutation("eval/intervals.py", "c = -lost * difference * (1 - difference)",
             "c = -won * difference * (1 - difference)", INTERVALS),
    Mutation("eval/intervals.py", "binary and groups == len(values)", "binary", INTERVALS),
    Mutation("eval/intervals.py", "len(set(clusters)) < len(data)", "len(set(clusters)) < 0",
             INTERVALS),
    Mutation("eval/intervals.py", "(6 * spread**1.5)", "(3 * spread**1.5)", INTERVALS),
    Mutation("eval/analysis/summary.py", "2 * math.exp(tail)", "math.exp(tail)", INTERVALS),
    Mutation("eval/analysis/summary.py", "if 2 * fewer >= n - 1:", "if 2 * fewer >= n - 3:",
             INTERVALS),
    # Flattened hops.
    Mutation("graphwalker/graphs/cvt.py", "other.id == side.entity_id or FLATTENED in pair[0]",
             "FLATTENED in pair[0]", FLATTEN),
    Mutation("graphwalker/graphs/cvt.py", "if pair not in plain:", "if True:", FLATTEN),
    Mutation("graphwalker/graphs/cvt.py", "listed[relation] = count - len(mediators)",
             "listed[relation] = count", FLATTEN),
    Mutation("graphwalker/graphs/compiled/hops.py", "found.discard(node)", "pass", FLATTEN),
    Mutation("graphwalker/graphs/compiled/hops.py", "if other == node or is_cvt[other]:",
             "if is_cvt[other]:", FLATTEN),
    # Certificates.
    Mutation("data_pipeline/certificates.py", "if any(entity.id in topics for entity in answers):",
             "if all(entity.id in topics for entity in answers):", WALKS),
    Mutation("data_pipeline/certificates.py", "if any(_ids(end) == gold for end in",
             "if all(_ids(end) == gold for end in", WALKS),
    Mutation("data_pipeline/certificates.py", "for k in range(len(query.tail)):",
             "for k in range(1, len(query.tail)):", WALKS),
    # Doors, stores, locks.
    Mutation("graphwalker/graphs/sparql/answers.py", "len(value) <= _DIGITS", "True",
             f"{SPARQL}/test_endpoint_answers.py"),
    Mutation("graphwalker/graphs/sparql/batch.py", "if not first <= place < last:",
             "if not place < last:", f"{SPARQL}/test_endpoint_answers.py"),
    Mutation("graphwalker/graphs/sparql/proof.py", "known.fingerprint != shown.fingerprint",
             "False", f"{SPARQL}/test_endpoint_proofs.py"),
    Mutation("graphwalker/graphs/sparql/client.py", "self.failures + 1, False",
             "self.failures + 1, self.proven", f"{SPARQL}/test_endpoint_proofs.py"),
    Mutation("graphwalker/graphs/format/stamps.py", " {found.st_ctime_ns}", "",
             f"{T}/graphs/files/test_graphs_damage.py"),
    Mutation("graphwalker/graphs/format/header.py", "if unknown := sorted(set(fields) - known):",
             "if unknown := []:", f"{T}/graphs/files/test_graphs_damage.py"),
    Mutation("graphwalker/graphs/format/layout.py", "(self._header.blocks and size > end)", "False",
             f"{T}/graphs/files/test_graphs_damage.py"),
    Mutation("graphwalker/runs.py", "fcntl.LOCK_EX | fcntl.LOCK_NB",
             "fcntl.LOCK_SH | fcntl.LOCK_NB", f"{T}/test_runs.py"),
    Mutation("graphwalker/protocols/tags.py",
             "if action is not None and action.start() < position:", "if False:",
             f"{T}/protocols {T}/test_doors.py"),
    Mutation("graphwalker/config.py", "or name not in PLACES", "", f"{T}/test_doors.py"),
    Mutation("data_pipeline/jobs/ledger.py", "if kept and not products.add",
             "if False and products.add", f"{D}/test_doubled.py"),
    # Tokens, rewards, reinforcement learning.
    Mutation("graphwalker/tokens/segments.py", "trained=place not in silent", "trained=True",
             TOKENS),
    Mutation("graphwalker/tokens/segments.py",
             "row.labels.extend(segment.ids if segment.trained",
             "row.labels.extend((IGNORED, *segment.ids[1:]) if segment.trained", TOKENS),
    Mutation("graphwalker/tokens/segments.py", "return [*ids, end_of_turn_id(fmt, tokenizer)]",
             "return ids", TOKENS),
    Mutation("graphwalker/tokens/segments.py",
             "split_special_tokens=True)\n    reserved, spelled",
             "split_special_tokens=False)\n    reserved, spelled", TOKENS),
    Mutation("training/reinforce/rows/episode_tokens.py", "[1] * len(logprobs) + [0] * rest",
             "[1] * len(ids)", EPISODES),
    Mutation("training/reinforce/rows/episode_tokens.py",
             "if trajectory.stop.infrastructure_failure:", "if False:", EPISODES),
    Mutation("training/reinforce/rows/logps.py", "score_at=(rows, targets - 1)",
             "score_at=(rows, targets)", "tests/training/reinforce/test_grpo_loss.py"),
    Mutation("training/reinforce/rewards/answers.py", 'scores["em"] * scores["grounded"]',
             'scores["em"]', REWARDS),
    Mutation("training/reinforce/rewards/answers.py", "len(predicted) - gold) / len(predicted)",
             "len(predicted) - gold) / max(gold, 1)", REWARDS),
    Mutation("training/reinforce/rewards/mix.py", "total += value * weight", "total += value",
             REWARDS),
    Mutation("training/reinforce/rewards/mix.py", "if trajectory.stop.infrastructure_failure:",
             "if False:", REWARDS),
    Mutation("training/reinforce/rewards/gold.py", "len(step.end & seen) / len(step.end)",
             "float(bool(step.end & seen))", REWARDS),
    Mutation("training/reinforce/groups.py", "if reward is not None}) < 2",
             "}) < 2", DOCTESTS),
    Mutation("training/reinforce/groups.py", "[] if t.stop.infrastructure_failure else earned(t)",
             "earned(t)", MECHANISMS),
    Mutation("training/reinforce/groups.py", '"unwinnable" if winnable is False',
             '"unwinnable" if not winnable', DOCTESTS),
    Mutation("training/supervised/data.py", "if len(row.input_ids) > config.max_length:",
             "if len(row.input_ids) >= config.max_length:",
             "tests/training/supervised/test_sft.py::test_long_rows_are_set_aside_and_counted"),
    Mutation("graphwalker/tools/listing.py", "if here <= there}", "if len(here) <= len(there)}",
             f"{D}/walks/test_walks_memory.py"),
)  # fmt: skip


def check() -> list[str]:
    """The mutations that no longer fit the code."""
    return [m.name for m in MUTATIONS if (ROOT / m.file).read_text().count(m.old) != 1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="mutations whose file has this in its name")
    parser.add_argument("--patience", type=int, default=900, help="seconds for one")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verdicts", type=Path, default=VERDICTS / "mutations.jsonl")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if stale := check():
        raise UserError(f"no longer fits the code: {stale[0]} (and {len(stale) - 1} others)")
    # Those of the same tests together, so that what is loaded for them serves all.
    chosen = sorted((m for m in MUTATIONS if given.only in m.file), key=lambda m: m.tests)
    if given.list:
        print("\n".join(m.name for m in chosen))
        return 0
    verdicts = Verdicts(given.verdicts)
    caught: list[Verdict] = []
    with tempfile.TemporaryDirectory() as name:
        copy = Copy(Path(name), given.patience)
        for mutation in chosen:
            text = mutation.text()
            verdict = verdicts.known(mutation.name, text)
            if not verdict:
                verdict = tried(copy, mutation.name, mutation.file, text, [mutation.tests])
                verdicts.add(verdict)
            print(verdict.line, flush=True)
            caught += [verdict] if verdict.caught else []
    survivors = sorted({m.name for m in chosen} - {verdict.name for verdict in caught})
    print(f"{len(caught)} of {len(chosen)} caught")
    if len(chosen) == len(MUTATIONS):
        at_first = verdicts.caught_at_first(m.name for m in chosen)
        figures = {
            "tried": len(chosen),
            "caught when first tried": at_first,
            "caught": len(caught),
            "survivors": survivors,
            "caught by": {verdict.name: verdict.by for verdict in caught},
        }
        record("mutations", figures, "python -m benchmarks.mutations", None, given.out)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
