"""Relations that people read both ways: `What borders {x}?`."""

from pathlib import Path

import pytest

from data_pipeline.config import SynthConfig
from data_pipeline.synthesize import make_questions
from data_pipeline.wording.lexicon import Lexicon
from graphwalker.files import read_records
from graphwalker.graphs.base import Direction
from graphwalker.graphs.build.build import build_graph
from graphwalker.query.query import Hop
from graphwalker.question import Question


@pytest.mark.parametrize("relation", ["interacts_with", "borders", "twinned_with", "sibling"])
def test_a_phrase_that_fits_both_ends_may_mean_the_hop_from_either(relation):
    lexicon, hop = Lexicon.for_graph([relation, "parent"]), Hop(relation)
    phrase = lexicon.entry(hop).phrases[0]
    assert Hop(relation, Direction.IN) in lexicon.readings_of(phrase, hop)
    parent = lexicon.entry(Hop("parent")).phrases[0]
    assert lexicon.readings_of(parent, Hop("parent")) == (Hop("parent"),)


def test_no_question_has_other_answers_when_it_is_read_the_other_way(tmp_path: Path):
    towns = [f"Town {k}" for k in range(40)]
    facts = [(town, "borders", towns[(k + 1) % 40]) for k, town in enumerate(towns)]
    facts += [(town, "lies_on", f"River {k % 5}") for k, town in enumerate(towns)]
    facts += [("Ayton", "borders", "Beeton"), ("Beeton", "borders", "Ayton")]
    (tmp_path / "g.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    build_graph([tmp_path / "g.tsv"], tmp_path / "graph")
    config = SynthConfig(count=30, mix={"1-hop": 1.0}, split="any", max_attempts=300)
    make_questions(tmp_path / "graph", config, tmp_path / "q")
    made = list(read_records(tmp_path / "q/questions.jsonl", Question.from_json))
    asked = [question.query.branches[0] for question in made if question.query]
    both = [branch for branch in asked if branch.hops[0].relation == "borders"]
    assert {branch.topic.name for branch in both} == {"Ayton", "Beeton"}
    assert len(asked) > len(both)
