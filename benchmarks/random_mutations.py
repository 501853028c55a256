"""Mutations drawn at random by a public tool: what the tests of a module catch of them.

    pip install cosmic-ray
    python -m benchmarks.random_mutations --count 100 --seed 0

cosmic-ray lists every change that its operators can make to the code that scores, masks tokens,
rewards, flattens hops, certifies questions and makes intervals. As many are drawn, as evenly over
these parts as they allow, and each is run against the tests nearest to it. A change of annotations
alone is none. Survivors are named; `REASONS` holds why one changes nothing that could be tested.
Verdicts are kept in `runs/mutations/`: a run that was stopped continues, and survivors without a
reason are tried again.
"""

import argparse
import ast
import importlib
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutant_tests import ROOT, VERDICTS, Copy, Verdict, Verdicts, tried
from benchmarks.mutations import INTERVALS, METRICS, SCORING
from benchmarks.record import RESULTS, record
from graphwalker.errors import UserError

TOKENS = "tests/graphwalker/tokens/test_tokens.py tests/graphwalker/tokens/test_tokens_formats.py"
REWARDS = "tests/training/reinforce/test_rewards.py"
GRAPHS, DATA = "tests/graphwalker/graphs", "tests/data_pipeline"
QUERIES = "tests/graphwalker/query"
HOPS = " ".join(
    f"{GRAPHS}/{name}.py"
    for name in (
        "views/test_graphs_flatten",
        "files/test_graphs_compiled",
        "files/test_graphs_listings",
    )
)
CERTIFICATES = f"{DATA}/walks/test_pipeline_walks.py {DATA}/verification/test_verify.py"
PARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "scoring": (("graphwalker/scoring.py",), f"{SCORING} {METRICS}"),
    "tokens": (("graphwalker/tokens/segments.py", "graphwalker/tokens/layout.py"), TOKENS),
    "rewards": (
        tuple(f"training/reinforce/rewards/{name}.py" for name in ("answers", "gold", "mix")),
        REWARDS,
    ),
    "flatten": (("graphwalker/graphs/cvt.py", "graphwalker/graphs/compiled/hops.py"), HOPS),
    "certificates": (("data_pipeline/certificates.py",), CERTIFICATES),
    "intervals": (("eval/intervals.py",), INTERVALS),
}
"""The code that is changed, and the tests that must see it."""
WIDER = {
    "flatten": f"{GRAPHS}/endpoints/test_conformance.py",
    "certificates": f"{QUERIES}/test_constraints.py {QUERIES}/test_constraints_made.py",
}
"""Slower tests of the default set, asked where the nearest see nothing."""
REASONS: dict[str, str] = {
    "graphwalker/scoring.py:19 ReplaceBinaryOperator_LShift_BitAnd #0": "the size of a cache: what "
    "is not remembered is computed again, and comes out the same",
    "graphwalker/scoring.py:210 ReplaceComparisonOperator_Gt_NotEq #1": "a number of answers is "
    "never negative, so `!= 0` is `> 0`",
    "graphwalker/graphs/cvt.py:147 NumberReplacer #10": "how many more are asked for at a time: "
    "the first of them are the same",
    "graphwalker/graphs/compiled/hops.py:118 ReplaceBinaryOperator_Sub_BitXor #4": "`^` is never "
    "less than `-`, and where fewer ends stand than are stored, nothing is stored: it is walked",
    "graphwalker/graphs/compiled/hops.py:133 ReplaceComparisonOperator_GtE_Lt #0": "which of two "
    "ways is faster: both give the same entities",
    "graphwalker/graphs/compiled/hops.py:161 NumberReplacer #44": "how many more are read at a "
    "time: the first of them are the same",
    "data_pipeline/certificates.py:87 NumberReplacer #21": "the query has one branch there, the "
    "first and the last",
    "data_pipeline/certificates.py:91 ReplaceComparisonOperator_Gt_NotEq #2": "a length is never "
    "negative, so `!= 0` is `> 0`",
    "eval/intervals.py:74 ReplaceComparisonOperator_Eq_GtE #5": "there are never more groups than "
    "values, so `>=` is `==`",
    "graphwalker/tokens/segments.py:134 ReplaceBinaryOperator_Mul_Div #1": "`*` becomes `/` in a "
    "signature: how arguments may be written, not what is done with them",
}
"""Survivors that change no behavior, by `Mutant.name`, and why."""


@dataclass(frozen=True)
class Mutant:
    """One change that the tool can make, at its place."""

    part: str
    file: str
    line: int
    operator: str
    occurrence: int

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line} {self.operator} #{self.occurrence}"


def all_mutants(part: str) -> Iterator[Mutant]:
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast

    for file in PARTS[part][0]:
        tree = get_ast((ROOT / file).read_text(encoding="utf-8"))
        for name in plugins.operator_names():
            kind = plugins.get_operator(name)
            if kind.arguments():
                continue
            operator = kind()
            places = (
                start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node)
            )
            for occurrence, (line, _) in enumerate(places):
                yield Mutant(part, file, line, name.removeprefix("core/"), occurrence)


def mutated(mutant: Mutant) -> str:
    """The file's text with the change; `""` where it changes no meaning."""
    from cosmic_ray import plugins
    from cosmic_ray.mutating import mutate_code

    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    operator = plugins.get_operator(f"core/{mutant.operator}")()
    changed = mutate_code(text, operator, mutant.occurrence)
    return changed if changed and meaning(changed) != meaning(text) else ""


def meaning(text: str) -> str:
    """The code without annotations."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def drawn(count: int, seed: int, parts: list[str]) -> list[tuple[Mutant, str]]:
    """So many of the parts' mutants, no two at one place of a file with one operator's family."""
    chosen: list[tuple[Mutant, str]] = []
    for number, part in enumerate(parts):
        wanted = count // len(parts) + (number < count % len(parts))
        listed = list(all_mutants(part))
        random.Random(f"{seed} {part}").shuffle(listed)
        places: set[tuple[str, int]] = set()
        for mutant in listed:
            if len(places) == wanted:
                break
            with suppress(SyntaxError):
                if (mutant.file, mutant.line) not in places and (text := mutated(mutant)):
                    places.add((mutant.file, mutant.line))
                    chosen.append((mutant, text))
    return chosen


def measured(given: argparse.Namespace, parts: list[str]) -> dict[str, Any]:
    chosen = drawn(given.count, given.seed, parts)
    verdicts = Verdicts(given.verdicts)
    found: dict[Mutant, Verdict] = {}
    with tempfile.TemporaryDirectory() as name:
        copy = Copy(Path(name), given.patience)
        for mutant, text in chosen:
            stages = filter(None, (PARTS[mutant.part][1], WIDER.get(mutant.part)))
            verdict = verdicts.known(mutant.name, text, mutant.name in REASONS)
            if not verdict:
                verdict = tried(copy, mutant.name, mutant.file, text, stages)
                verdicts.add(verdict)
            print(verdict.line, flush=True)
            found[mutant] = verdict
    survivors = [
        {
            **asdict(mutant),
            "changed": text.splitlines()[mutant.line - 1].strip(),
            "reason": REASONS.get(mutant.name, ""),
        }
        for mutant, text in chosen
        if not found[mutant].caught
    ]
    silent = sum(mutant.name in REASONS for mutant in found)
    caught = [mutant for mutant, verdict in found.items() if verdict.caught]
    return {
        "tried": len(found),
        "change no behavior": silent,
        "caught when first tried": verdicts.caught_at_first(mutant.name for mutant in found),
        "caught": len(caught),
        "of parts": {
            part: f"{sum(m.part == part for m in caught)} of {sum(m.part == part for m in found)}"
            for part in parts
        },
        "survivors": survivors,
        "caught by": {mutant.name: found[mutant].by for mutant in caught},
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    parser.add_argument("--patience", type=int, default=900, help="seconds for one")
    parser.add_argument("--verdicts", type=Path, default=VERDICTS / "random.jsonl")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    parts = given.only.split(",")
    if unknown := sorted(set(parts) - PARTS.keys()):
        raise UserError(f"--only {unknown[0]}: known: {', '.join(PARTS)}")
    try:
        importlib.import_module("cosmic_ray")
    except ModuleNotFoundError:
        raise UserError("cosmic-ray is not here: pip install cosmic-ray") from None
    figures = measured(given, parts)
    line = f"python -m benchmarks.random_mutations --count {given.count} --seed {given.seed}"
    record("random_mutations", figures, line, given.seed, given.out)
    print(f"{figures['caught']} of {figures['tried']} caught")
    return 1 if any(not one["reason"] for one in figures["survivors"]) else 0


if __name__ == "__main__":
    sys.exit(main())
