"""What a chat teacher is asked for: requests and prompt tokens of a kept trajectory.

    PYTHONPATH=tests python -m benchmarks.teacher --graph world/graph --name world

The server is the tests' own, over real HTTP: it answers every prompt in form, so that nothing is
asked twice. A token is taken as four characters, for requests of any release alike.
`benchmarks/results/teacher.json` holds the same measurement of the release before (one request for
each thought and each score), made by this script at that commit.
"""

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, commit, record

CHARACTERS = 4
"""Of a token."""
SETTINGS = {"plausibility": {"on": False}, "max_relation_share": 1.0}
"""As walks were before there was a rule of plausibility: the same ones in both releases."""


def measure(graph: Path, count: int) -> dict[str, Any]:
    """Requests and prompt tokens by what they are for, each per kept trajectory."""
    from data_pipeline.config import SynthConfig
    from data_pipeline.synthesize import synthesize
    from graphwalker.config import parse_config
    from support.teacher_server import teach

    known = {key: value for key, value in SETTINGS.items() if key in SynthConfig.model_fields}
    with teach() as server, tempfile.TemporaryDirectory() as out:
        about = {"base_url": server.url, "model": "tests", "api_key_env": "", "concurrency": 8}
        settings = {"count": count, "teacher": about, **known}
        kept = synthesize(graph, parse_config(SynthConfig, settings, "benchmark"), Path(out))[
            "count"
        ]
    requests, tokens = Counter[str](), Counter[str]()
    for talk, times in server.asked.items():
        prompt = json.loads(talk)[0]["content"]
        purpose = purpose_of(prompt)
        requests[purpose] += times
        tokens[purpose] += times * len(prompt) // CHARACTERS
    return {
        "commit": commit(),
        "kept": kept,
        "requests_per_record": round(requests.total() / kept, 2),
        "prompt_tokens_per_record": round(tokens.total() / kept),
        "requests_by_purpose": {k: round(v / kept, 2) for k, v in sorted(requests.items())},
        "prompt_tokens_by_purpose": {k: round(v / kept) for k, v in sorted(tokens.items())},
    }


def purpose_of(prompt: str) -> str:
    """`question`, `score` or `thought`, by the form that the prompt asks for."""
    form = prompt.split("Reply with")[-1]
    return "thought" if "<thought" in form else "question" if "<question>" in form else "score"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", type=Path, required=True)
    parser.add_argument("--name", required=True, help="what the record calls the graph")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--release", default="now", help="`now`, or `before` at the older commit")
    arguments = parser.parse_args()
    found = measure(arguments.graph, arguments.count)
    print(json.dumps(found, indent=1))
    path = RESULTS / "teacher.json"
    figures = json.loads(path.read_text())["figures"] if path.is_file() else {}
    figures.setdefault(arguments.name, {})[arguments.release] = found
    command = f"PYTHONPATH=tests python -m benchmarks.teacher --graph G --name {arguments.name}"
    record("teacher", figures, command, seed=0)


if __name__ == "__main__":
    main()
