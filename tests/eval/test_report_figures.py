"""Each figure of report.json and of `analyse`, from episodes written by hand to the page.

The right figures are computed here from the table below, by nothing of the product.
"""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from eval.run.records import SampledEpisode
from graphwalker.cli.app import app
from graphwalker.files import read_json, read_jsonl
from graphwalker.files import write_jsonl as write_lines
from graphwalker.graphs.base import Entity
from graphwalker.question import Answer, Question
from graphwalker.trajectory import StopReason, Trajectory, Turn
from support.commands import run

Z = 1.959963984540054


@dataclass(frozen=True)
class Row:
    id: str
    structure: str
    hops: int
    gold: tuple[str, ...]
    answer: tuple[str, ...] | None
    shown: tuple[str, ...]
    turns: int
    error: str = ""
    stop: str = "answered"
    calls: int = 2
    """Of the graph, in the first turn."""
    tokens: int = 10

    def share(self, part: str) -> float:
        given, gold = set(self.answer or ()), set(self.gold)
        if self.answer is None or not given & gold:
            return 0.0
        precision, recall = len(given & gold) / len(given), len(given & gold) / len(gold)
        return {
            "em": float(given == gold),
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / (precision + recall),
            "hits1": float(self.answer[0] in gold),
            "hit_any": 1.0,
        }[part]

    def to_json(self, **more: Any) -> dict[str, Any]:
        blank = Turn((), "c", "", {"tool": "get_relations", "arguments": {"entity": "T"}}, "")
        shown = tuple(Entity(name.lower(), name) for name in self.shown)
        first = replace(blank, shown=shown, observation=", ".join(self.shown), error=self.error)
        turns = (replace(first, graph_calls=self.calls), *[blank] * (self.turns - 1))
        split, gold = "train" if self.hops == 1 else "test", tuple(map(Answer, self.gold))
        about = (f"What is <i>{self.id}</i>?", (Entity("t", "T"),), gold, "")
        question = Question(self.id, *about, self.structure, self.hops, split)
        usage = {"completion_tokens": self.tokens, "turns": self.turns, "seconds": 1.0}
        ended = (self.answer, StopReason(self.stop))
        made = Trajectory(question, "graphwalker", "by hand", turns, *ended, usage=usage)
        return {**made.to_json(), **more}


AFTER = [
    Row("q1", "1-hop", 1, ("A",), ("A",), ("A", "X"), 2),
    Row("q2", "2-hop", 2, ("B", "C"), ("B",), ("B", "C"), 3, calls=5, tokens=30),
    Row("q3", "2-hop", 2, ("D",), ("X", "D"), ("X",), 4, error="unknown_relation"),
    Row("q4", "1-hop", 1, ("E",), None, (), 3, error="malformed", stop="malformed"),
    Row("q5", "2I", 2, ("F", "G"), ("G", "F"), ("F", "G"), 6, error="no_triples", stop="forced"),
    Row("q6", "2I", 2, ("H",), ("Y",), ("Y", "H"), 2, tokens=50),
    Row("q7", "1-hop", 1, ("I",), ("I",), ("I",), 2),
]
BEFORE = [
    Row("q1", "1-hop", 1, ("A",), ("X",), ("X",), 2),
    Row("q2", "2-hop", 2, ("B", "C"), ("B", "C"), ("B", "C"), 3),
    Row("q3", "2-hop", 2, ("D",), None, (), 2, stop="malformed"),
    Row("q4", "1-hop", 1, ("E",), None, (), 3, stop="malformed"),
    Row("q5", "2I", 2, ("F", "G"), ("G",), ("G",), 6),
    Row("q6", "2I", 2, ("H",), ("Y",), ("Y",), 2),
    Row("q7", "1-hop", 1, ("I",), ("X",), ("X",), 2),
]
DRAWS = {"q1": (1, 0, 1), "q2": (0, 0, 0), "q5": (1, 1, 1), "q6": (1, 0, 0)}
"""Whether each sample of a question was right."""
FAILED = Row("q8", "1-hop", 1, ("J",), None, (), 1, stop="graph_error")
CEILING = {"questions": 7, "with_query": 7, "gold_relation_listed": 0.9, "winnable": 0.5}
CEILING |= {"all_answers_by_gold": 0.8, "all_answers_by_any": 0.7}
ASKED = 10
"""Questions of the file: seven scored, one failed, two never asked."""


def write_run(folder: Path, rows: list[Row]) -> None:
    write_lines(folder / "predictions.jsonl", [row.to_json() for row in rows])
    write_lines(folder / "failures.jsonl", [FAILED.to_json()])
    samples = [
        SampledEpisode(name, number, ("A",), StopReason.ANSWERED, {"em": float(right)}).to_json()
        for name, draws in DRAWS.items()
        for number, right in enumerate(draws, start=1)
    ]
    write_lines(folder / "samples.jsonl", samples)
    usage = [{"id": f"{row.id}#0", "turns": row.turns, "seconds": 2.0} for row in rows]
    write_lines(folder / "usage.jsonl", usage)
    settings = {"questions": ASKED, "samples": 3, "questions_checksum": "c", "graph": "g"}
    (folder / "config.json").write_text(json.dumps(settings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures")
    write_run(place / "before", BEFORE)
    write_run(place / "after", AFTER)
    write_run(place / "after/baselines/rule", BEFORE)
    told = {"baselines": ["rule"], "ceiling": CEILING}
    (place / "after/beside.json").write_text(json.dumps(told))
    return place


@pytest.fixture(scope="module")
def stages(folder: Path) -> list[dict[str, Any]]:
    return reported(folder / "page", folder / "before", folder / "after")


def reported(page: Path, *runs: Path) -> list[dict[str, Any]]:
    CliRunner().invoke(app, ["report", *map(str, runs), "--out", str(page)])
    return read_json(page / "report.json")["stages"]


def mean(rows: list[Row], value: Callable[[Row], float]) -> float:
    return sum(map(value, rows)) / len(rows)


def wilson(right: float, n: int) -> tuple[float, float]:
    share, z2 = right / n, Z * Z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def groups(key: Callable[[Row], str]) -> Iterator[tuple[str, list[Row]]]:
    for name in {key(row) for row in AFTER}:
        yield name, [row for row in AFTER if key(row) == name]


RATES = ("em", "f1", "precision", "recall", "hits1", "hit_any")
WALKS: dict[str, Callable[[Row], float]] = {
    "retrieval_any": lambda row: float(bool(set(row.gold) & set(row.shown))),
    "retrieval_all": lambda row: float(set(row.gold) <= set(row.shown)),
    "recovery_all": lambda row: float(bool(row.error) and row.share("em") == 1),
    "answered": lambda row: float(row.answer is not None),
    "forced": lambda row: float(row.stop == "forced"),
    "turns": lambda row: row.turns,
    "graph_calls": lambda row: row.calls,
    "tokens": lambda row: row.tokens,
}


def test_rates_are_means_over_the_scored_questions(stages: list[dict[str, Any]]) -> None:
    for stage, rows in zip(stages, (BEFORE, AFTER), strict=True):
        for name in RATES:
            assert stage[name] == pytest.approx(mean(rows, lambda row, n=name: row.share(n))), name
        for name, value in WALKS.items():
            assert stage[name] == pytest.approx(mean(rows, value)), name
    assert stages[1]["em"] == 3 / 7 and stages[1]["f1"] == pytest.approx((3 + 2 / 3 + 2 / 3) / 7)


def test_intervals_hold_their_figure_and_those_of_shares_are_wilsons(stages) -> None:
    after = stages[1]
    for name in (*RATES, *WALKS):
        low, high = after[f"{name}_interval"]
        assert low <= after[name] <= high, name
        binary = name in ("em", "hits1", "hit_any") or name in list(WALKS)[:5]
        if binary:
            assert (low, high) == pytest.approx(wilson(after[name] * 7, 7)), name


def test_recovery_is_of_the_episodes_with_an_error(stages: list[dict[str, Any]]) -> None:
    erring = [row for row in AFTER if row.error]
    assert stages[1]["erring"] == len(erring) == 3
    assert mean(erring, WALKS["recovery_all"]) == 1 / 3
    assert stages[1]["recovery_given_error"] == pytest.approx(1 / 3)
    assert stages[0]["erring"] == 0 and stages[0]["recovery_given_error"] is None


def passed(k: int) -> float:
    misses = [math.comb(3 - sum(d), k) / math.comb(3, k) for d in DRAWS.values()]
    return 1 - sum(misses) / len(misses)


def test_pass_at_k_is_unbiased_over_the_sampled_questions(stages: list[dict[str, Any]]) -> None:
    for k in (1, 2):
        assert stages[1][f"pass@{k}"] == pytest.approx(passed(k))
        assert stages[1][f"pass@{k}_questions"] == len(DRAWS)
    assert "pass@4" not in stages[1]
    assert stages[1]["by_structure"]["1-hop"]["pass@1"] == pytest.approx(2 / 3)


def test_what_is_missing_is_counted_against_the_question_file(stages: list[dict[str, Any]]) -> None:
    found = {key: stages[1][key] for key in ("questions", "failures", "questions_total", "missing")}
    assert found == {"questions": 7, "failures": 1, "questions_total": ASKED, "missing": 3}
    assert stages[1]["missing_ids"] == ["q8"]
    assert stages[1]["missing_samples"] == 3 * ASKED - sum(map(len, DRAWS.values()))


def test_groups_hold_their_own_questions(stages: list[dict[str, Any]]) -> None:
    keys: dict[str, Callable[[Row], str]] = {
        "by_structure": lambda row: row.structure,
        "by_hops": lambda row: str(row.hops),
        "by_split": lambda row: "train" if row.hops == 1 else "test",
    }
    for name, key in keys.items():
        for group, rows in groups(key):
            found = stages[1][name][group]
            assert found["questions"] == len(rows)
            for rate in ("em", "f1", "hits1"):
                assert found[rate] == pytest.approx(mean(rows, lambda row, n=rate: row.share(n)))
            assert found["em_interval"] == pytest.approx(wilson(found["em"] * len(rows), len(rows)))


def test_gains_are_paired(stages: list[dict[str, Any]]) -> None:
    gain = stages[1]["gain_over_previous"]
    pairs = [(b.share("em"), a.share("em")) for b, a in zip(BEFORE, AFTER, strict=True)]
    won, lost = sum(a > b for b, a in pairs), sum(a < b for b, a in pairs)
    assert (gain["questions"], gain["won"], gain["lost"]) == (7, won, lost) == (7, 3, 1)
    assert gain["only_a"] == gain["only_b"] == 0
    fair = sum(math.comb(won + lost, i) for i in range(min(won, lost) + 1)) / 2 ** (won + lost)
    assert gain["p"] == pytest.approx(min(1, 2 * fair))
    for name in ("em", "f1", "hits1"):
        assert gain[f"{name}_a"] == pytest.approx(stages[0][name])
        assert gain[f"{name}_b"] == pytest.approx(stages[1][name])
        assert gain[name] == pytest.approx(stages[1][name] - stages[0][name])
        low, high = gain[f"{name}_interval"]
        assert low < gain[name] < high
    assert (stages[1]["gain"], stages[1]["gain_interval"]) == (gain["em"], gain["em_interval"])


def test_a_gain_over_a_part_of_the_questions_says_so(folder: Path, tmp_path: Path) -> None:
    records = list(read_jsonl(folder / "after/predictions.jsonl"))
    write_lines(tmp_path / "part.jsonl", records[:3])
    runs = [str(folder / "before"), str(tmp_path / "part.jsonl")]
    done = CliRunner().invoke(app, ["report", *runs, "--out", str(tmp_path / "page")])
    page = (tmp_path / "page/report.md").read_text()
    headline = page.split("\n")[2]
    assert " on 3 common questions" in headline and page.count(" on 3 common questions") == 2
    assert "not all on the same questions: before 7, part.jsonl 3" in " ".join(done.stdout.split())


def test_baselines_and_the_ceiling_stand_beside_the_run(stages: list[dict[str, Any]]) -> None:
    rule = stages[1]["baselines"]["rule"]
    assert (rule["questions"], rule["em"], rule["f1"]) == (7, stages[0]["em"], stages[0]["f1"])
    assert rule["agent_minus"]["em"] == pytest.approx(stages[1]["gain"])
    assert rule["agent_minus"]["won"] == 3
    assert stages[1]["ceiling"] == CEILING


def test_the_page_shows_questions_as_text(folder: Path, stages: list[dict[str, Any]]) -> None:
    page = (folder / "page/report.html").read_text()
    assert "&lt;i&gt;q3&lt;/i&gt;" in page and "<i>q" not in page


def test_analyse_counts_the_same(folder: Path, stages: list[dict[str, Any]]) -> None:
    done = CliRunner().invoke(app, ["analyse", str(folder / "after"), "--json"])
    found = json.JSONDecoder().raw_decode(done.output[done.output.index("{") :])[0]
    assert (found["questions"], found["failures"], found["missing"]) == (7, 1, 3)
    assert found["wrong"] == sum(row.share("em") < 1 for row in AFTER)
    for name in ("em", "f1", "hits1", "retrieval_any", "retrieval_all"):
        assert found["overall"][name] == stages[1][name]
    sizes = {name: row["questions"] for name, row in found["by"]["answers"].items()}
    assert sizes == {"1": 5, "2-3": 2}
    curve = [point["value"] for point in found["pass_curve"]]
    assert curve == pytest.approx([passed(k) for k in (1, 2, 3)])
    assert found["usage"]["turns"]["mean"] == pytest.approx(stages[1]["turns"], abs=1e-6)
    assert found["usage"]["seconds"]["total"] == 14
    kinds = {name: kind["count"] for name, kind in found["errors"].items() if kind["count"]}
    assert kinds == {"malformed": 1, "ungrounded": 1, "partial answer set": 1, "wrong entity": 1}
    assert {name: one["count"] for name, one in found["classes"].items()} == {
        "hallucination": 2,  # q4 never wrote a valid step, q3 names what nothing showed
        "reasoning": 2,
        "context window": 0,
    }
    assert found["classes"]["reasoning"]["share"] == pytest.approx(2 / 7)


def test_a_judges_verdicts_say_what_is_an_error_and_a_full_context_is_one(tmp_path: Path) -> None:
    full = Row("q9", "1-hop", 1, ("K",), None, (), 2, stop="length")
    write_lines(tmp_path / "predictions.jsonl", [row.to_json() for row in [*AFTER, full]])
    verdicts = {"q2#0": True, "q6#0": True, "q7#0": False}
    judged = [{"id": key, "judge": said} for key, said in verdicts.items()]
    write_lines(tmp_path / "judged.jsonl", judged)
    classes = json.loads(run("analyse", tmp_path, "--json"))["classes"]
    assert [one["count"] for one in classes.values()] == [2, 1, 1]
    assert "12.50%" in run("analyse", tmp_path)


def test_a_near_miss_is_told_on_the_page_and_counts_as_wrong(tmp_path: Path) -> None:
    row = Row("q1", "", 1, ("Queen's College",), ("Queen’s_College",), (), 2)
    write_lines(tmp_path / "run/predictions.jsonl", [row.to_json()])
    (stage,) = reported(tmp_path / "page", tmp_path / "run")
    assert (stage["em"], stage["near_misses"]) == (0.0, 1)
    page, text = ((tmp_path / f"page/report.{kind}").read_text() for kind in ("html", "md"))
    assert "Queen’s_College" in page and "Queen’s\\_College" in text


def test_a_turn_that_repeats_one_text_is_no_reason_for_more_tokens(tmp_path: Path) -> None:
    record = Row("q1", "", 1, (), None, (), 3, stop="malformed").to_json()
    record["usage"]["cut_turns"] = 2
    record["turns"][0] |= {"completion": "<think> Found" + " Oslo" * 40, "error": "malformed"}
    record["turns"][1] |= {"completion": "<think> I go on to", "error": "malformed"}
    write_lines(tmp_path / "run/predictions.jsonl", [record])
    (stage,) = reported(tmp_path / "page", tmp_path / "run")
    assert (stage["looping_turns"], stage["cut_turns"]) == (1, 2)
    told = "2 of 3 turns reached max_tokens before their action, 1 of them in a loop."
    assert told in (tmp_path / "page/report.md").read_text()


def test_rows_paths_empty_turns_and_the_way_an_answer_was_read(tmp_path: Path) -> None:
    path = {"kind": "path", "nodes": ["A", "B"], "edges": [["A", "B"], ["A", "C"], ["C", "B"]]}
    rows = {"kind": "rows", "rows": [{"name": "A"}, {"name": "B"}]}
    answered = [
        (path, ["A", "B"], "json"),  # as short as possible
        (path, ["A", "C", "B"], "json"),  # twice as long
        (path, ["B", "A"], "text"),  # no path: has no ratio
        (rows, ['{"name": "A"}', '{"name": "X"}', '{"name": "Y"}'], "text"),
        (rows, ['{"name": "B"}', '{"name": "A"}'], "json"),
    ]
    records: list[dict[str, Any]] = []
    for number, (gold, answer, read) in enumerate(answered):
        record = Row(f"k{number}", "", 0, (), (), (), 2).to_json(answer=answer)
        record["question"]["gold"] = gold
        record["turns"][-1] |= {"action": {"answer": answer, "read": read}}
        record["usage"]["empty_turns"] = number
        records.append(record)
    write_lines(tmp_path / "run/predictions.jsonl", records)
    (stage,) = reported(tmp_path / "page", tmp_path / "run")
    assert stage["em"] == 3 / 5 and stage["path_ratio"] == (1 + 2) / 2
    assert stage["false_positives"] == 2
    assert stage["answers_read"] == {"json": 3, "text": 2}
    assert (stage["empty_turns"], stage["all_turns"]) == (0 + 1 + 2 + 3 + 4, 10)
    assert stage["f1"] == pytest.approx((1 + 1 + 0 + 2 * (1 / 3) * (1 / 2) / (5 / 6) + 1) / 5)
