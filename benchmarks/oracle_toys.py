"""Oracles on questions in published forms, and ground truth by an engine of another make.

    python -m benchmarks.oracle_toys [--out runs/oracle-toys] [--graphs 10]

Plays ARK-V1's oracles on 200 questions in CoLoTa's form with its published faults, GraphRunner's on
toy graphs in GRBench's form for two domains; gives GraphRunner's verification 60 hallucinated plans
and 60 valid ones; and executes each question of GraphWalk's templates as Cypher in Kùzu (needs the
extra `dev`), on graphs of each of four sizes. What is invented here is that of the tests. Writes
benchmarks/results/oracle_toys.json.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.graphwalk import SIZES
from benchmarks.record import ROOT, record
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.published.graphrunner.plans import PlanFault, read_plan, verify
from graphwalker.agents.published.graphrunner.schema import traversal_schema
from graphwalker.agents.rollout import rollout
from graphwalker.datasets.base import load_dataset, load_questions
from graphwalker.datasets.evidence import graph_records, with_evidence
from graphwalker.files import write_jsonl
from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.intake.grbench import grbench_records
from graphwalker.graphs.open import open_graph
from graphwalker.policies.config import PolicyConfig
from graphwalker.policies.load import load_policy
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.synthetic.graphs import size_of
from graphwalker.synthetic.sets import make_graph_set

sys.path.insert(0, str(ROOT / "tests"))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=10)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        toys = toy_domains(out)
        figures = {
            "colota_form": colota(out),
            "grbench_form": {name: played(*toy, "graphrunner") for name, toy in toys.items()},
            "graph_cot_on_grbench_form": {
                name: played(*toy, "graph-cot") for name, toy in toys.items()
            },
            "plans": plans({name: graph for name, (graph, _) in toys.items()}),
            "templates_in_kuzu": {str(n): in_kuzu(out, n, given.graphs) for n in SIZES},
        }
    print(json.dumps(figures, indent=1))
    print(record("oracle_toys", figures, "python -m benchmarks.oracle_toys", seed=0))


def colota(out: Path) -> dict[str, Any]:
    """ARK-V1's oracles on 200 questions; those without evidence of their own are set aside."""
    from support.yes_no_world import faulty_records  # pyright: ignore

    path = out / "CoLoTa_qa.json"
    path.write_text(json.dumps(faulty_records()))
    found = with_evidence(load_dataset(path).questions)
    write_jsonl(out / "evidence.jsonl", graph_records(found.usable))
    build_graph([], out / "evidence", property_files=[out / "evidence.jsonl"])
    agents = {n: played(out / "evidence", found.usable, n) for n in ("ark-v1", "ark-v1-code")}
    return {"records": len(faulty_records()), **agents}


def toy_domains(out: Path) -> dict[str, tuple[Path, list[Question]]]:
    """Graph and questions of the two toy domains, read from the published form."""
    from support import grbench_toy as toy  # pyright: ignore

    made: dict[str, tuple[Path, list[Question]]] = {}
    for name, graph, ask in (
        ("dblp", toy.academic(), toy.academic_questions),
        ("amazon", toy.commerce(), toy.commerce_questions),
    ):
        graph_file, lines = toy.write_toy(out / name, graph, ask(graph))
        write_jsonl(out / name / "records.jsonl", grbench_records(graph_file))
        build_graph([], out / name / "graph", property_files=[out / name / "records.jsonl"])
        made[name] = out / name / "graph", load_questions(lines)
    return made


def played(graph: Path, questions: Sequence[Question], preset: str) -> dict[str, Any]:
    """EM of the preset's oracle."""
    world = Environment(open_graph(graph), EnvironmentConfig(preset=preset))
    own = world.oracle
    mine = [q for q in questions if own is None or own.plays(q)]
    oracle = load_policy(PolicyConfig(model="oracle"), environment=world)
    done = list(rollout(mine, world, oracle))
    right = sum(score(one)["em"] == 1.0 for one in done)
    ends = dict(Counter(one.stop.value for one in done))
    em = round(right / len(done), 4) if done else None
    return {"questions": len(questions), "played": len(done), "em": em, "ends": ends}


def plans(graphs: dict[str, Path]) -> dict[str, Any]:
    """How many plans of the two lists are caught and passed before anything runs."""
    from support.graphrunner_plans import HALLUCINATED, VALID  # pyright: ignore

    schemas = {name: traversal_schema(open_graph(path)) for name, path in graphs.items()}

    def fault(graph: str, steps: Any) -> PlanFault | None:
        plan = read_plan(steps)
        return plan if isinstance(plan, PlanFault) else verify(plan, schemas[graph])

    faults = [(kind, fault(graph, plan)) for graph, kind, plan in HALLUCINATED]
    caught = [found.kind for kind, found in faults if found is not None and found.kind == kind]
    passed = sum(fault(graph, plan) is None for graph, plan in VALID)
    return {
        "hallucinated": len(HALLUCINATED),
        "caught_as_their_kind": len(caught),
        "kinds": dict(Counter(caught)),
        "valid": len(VALID),
        "passed": passed,
    }


def in_kuzu(out: Path, nodes: int, graphs: int) -> dict[str, int]:
    """Questions of the templates whose answers the other engine gives; raises where one differs."""
    from support.kuzu_graph import check  # pyright: ignore

    folder = out / f"nodes-{nodes}"
    made = make_graph_set(size_of(nodes), graphs, 0, folder)
    work = out / f"kuzu-{nodes}"
    work.mkdir()
    equal = check(folder, work)
    return {"questions": made["questions"], "equal_rows": equal, "equal_ties": graphs}


if __name__ == "__main__":
    main()
