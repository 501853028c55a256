"""Mutations drawn at random by a public tool: what the tests of a module catch of them.

    pip install cosmic-ray
    python -m benchmarks.random_mutations --count 100 --seed 0

cosmic-ray lists every change that its operators can make to the code that scores, masks tokens,
rewards, flattens hops, certifies questions and makes intervals. As many are drawn, as evenly over
these parts as they allow, and each is run against the tests nearest to it. A change of annotations
alone is none. Survivors are named; `REASONS` holds why one changes nothing that could be tested.
"""

import argparse
import ast
import importlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.mutant_tests import ROOT, fails, load_heavy, make_copy
from benchmarks.mutations import FLATTEN, INTERVALS, METRICS, SCORING, WALKS
from benchmarks.record import RESULTS, record
from graphwalker.errors import UserError

TOKENS = "tests/graphwalker/tokens/test_tokens.py tests/graphwalker/tokens/test_tokens_formats.py"
REWARDS = "tests/training/reinforce/test_rewards.py"
GRAPHS, DATA = "tests/graphwalker/graphs", "tests/data_pipeline"
HOPS = f"{GRAPHS}/views/test_graphs_flatten.py {GRAPHS}/files/test_graphs_compiled.py"
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
    "flatten": FLATTEN,
    "certificates": f"{WALKS} {DATA}/test_pipeline_synth.py",
    "rewards": "tests/training/reinforce/test_grpo_mechanisms.py",
}
"""Slower tests of the default set, asked where the nearest see nothing."""
REASONS: dict[str, str] = {
    "eval/intervals.py:152 NumberReplacer #83": "the size of a block bounds memory; draws are the "
    "same for any size",
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
    caught: dict[str, int] = dict.fromkeys(parts, 0)
    tried: dict[str, int] = dict.fromkeys(parts, 0)
    survivors: list[dict[str, Any]] = []
    ends = time.monotonic() + given.minutes * 60
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        make_copy(copy)
        sound_parts: set[str] = set()
        random.Random(given.seed).shuffle(chosen)
        for mutant, text in chosen:
            if time.monotonic() > ends:
                break
            if mutant.part not in sound_parts:
                failure = fails(PARTS[mutant.part][1], copy, given.patience)
                if failure[0]:
                    raise UserError(f"{mutant.part}: tests fail without a mutation: {failure[1]}")
                sound_parts.add(mutant.part)
            path = copy / mutant.file
            sound = path.read_text(encoding="utf-8")
            path.write_text(text, encoding="utf-8")
            stages = filter(None, (PARTS[mutant.part][1], WIDER.get(mutant.part)))
            found = any(fails(tests, copy, given.patience)[0] for tests in stages)
            path.write_text(sound, encoding="utf-8")
            tried[mutant.part] += 1
            caught[mutant.part] += found
            print(f"{'caught' if found else 'SURVIVED':9} {mutant.name}", flush=True)
            if not found:
                changed = text.splitlines()[mutant.line - 1].strip()
                reason = REASONS.get(mutant.name, "")
                survivors.append({**asdict(mutant), "changed": changed, "reason": reason})
    return {
        "drawn": len(chosen),
        "tried": sum(tried.values()),
        "caught": sum(caught.values()),
        "of parts": {part: f"{caught[part]} of {tried[part]}" for part in parts},
        "survivors": survivors,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    parser.add_argument("--patience", type=int, default=1800, help="seconds for one")
    parser.add_argument("--minutes", type=float, default=600.0, help="no new one after so long")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    parts = given.only.split(",")
    if unknown := sorted(set(parts) - PARTS.keys()):
        raise UserError(f"--only {unknown[0]}: known: {', '.join(PARTS)}")
    try:
        importlib.import_module("cosmic_ray")
    except ModuleNotFoundError:
        raise UserError("cosmic-ray is not here: pip install cosmic-ray") from None
    load_heavy(" ".join(PARTS[part][1] for part in parts))
    figures = measured(given, parts)
    line = f"python -m benchmarks.random_mutations --count {given.count} --seed {given.seed}"
    record("random_mutations", figures, line, given.seed, given.out)
    print(f"{figures['caught']} of {figures['tried']} caught")
    return 1 if any(not one["reason"] for one in figures["survivors"]) else 0


if __name__ == "__main__":
    sys.exit(main())
