"""Plain words: thoughts call a step by one phrase, whatever the question says; questions stay."""

from data_pipeline.config import ExpertConfig, SynthConfig
from data_pipeline.experts.experts import make_experts
from data_pipeline.synthesize import make_questions, synthesize
from data_pipeline.wording.lexicon import Lexicon
from data_pipeline.wording.plain_words import plain_words
from graphwalker.files import read_records
from graphwalker.graphs.base import Direction
from graphwalker.query.draft import Draft
from graphwalker.query.query import Hop
from graphwalker.question import worded
from graphwalker.trajectory import Trajectory
from graphwalker.world.generate import make_world
from graphwalker.world.schema import relation_ids

LEXICON = Lexicon.for_graph(relation_ids())
SPOUSE = Hop("people.person.spouse_s..people.marriage.spouse", Direction.OUT)
DIRECTOR = Hop("film.film.directed_by", Direction.OUT)
VAGUE = "the person behind {x}"


def draft(hop: Hop, phrase: str) -> Draft:
    return Draft("?", ((phrase,),), (), ((LEXICON.readings_of(phrase, hop),),))


def test_every_exact_wording_of_a_hop_has_the_same_plain_one() -> None:
    put = plain_words(LEXICON)
    entry = LEXICON.entry(SPOUSE)
    said = [p.text for p in (*entry.phrases, *entry.clauses, *entry.casual_phrases) if not p.vague]
    assert len(said) > 3
    assert {put(draft(SPOUSE, phrase)).phrases for phrase in said} == {(("the spouse of {x}",),)}


def test_a_phrase_of_several_meanings_stays() -> None:
    given = draft(DIRECTOR, VAGUE)
    assert plain_words(LEXICON)(given) == given


def test_thoughts_have_plain_words_and_questions_their_own(tmp_path) -> None:
    make_world(1000, 0, tmp_path / "world")
    graph = tmp_path / "world/graph"
    same = {"count": 30, "mix": {"2-hop": 1.0, "2I": 1.0}, "max_degree": 3, "vague": 0.0}
    made = {}
    for name, plain in (("echo", False), ("plain", True)):
        config = SynthConfig(**same, plain_words=plain, plain_thoughts=True)
        synthesize(graph, config, tmp_path / name)
        made[name] = list(read_records(tmp_path / name / "graphsynth.jsonl", Trajectory.from_json))
    assert [t.question for t in made["echo"]] == [t.question for t in made["plain"]]
    put, told = plain_words(LEXICON), 0
    for echo, plain in zip(made["echo"], made["plain"], strict=True):
        said = " ".join(turn.thought for turn in plain.turns)
        if said != " ".join(turn.thought for turn in echo.turns):
            told += 1
        for phrase in put(worded(plain.question)[1]).phrases[0]:
            assert phrase.replace("{x}", "it") in said
    assert told > 5


def test_the_expert_speaks_in_plain_words_where_it_is_told_to(tmp_path) -> None:
    make_world(1000, 0, tmp_path / "world")
    graph = tmp_path / "world/graph"
    mix = {"2-hop": 1.0}
    asked = SynthConfig(count=25, mix=mix, max_degree=3, vague=0.0, seed=1)
    make_questions(graph, asked, tmp_path / "rl")
    walks: list[Trajectory] = []
    said: dict[bool, list[str]] = {}
    for plain in (False, True):
        config = ExpertConfig(count=20, mix=mix, error_rate=0.0, plain_words=plain)
        out = tmp_path / f"roll-{plain}"
        make_experts(graph, config, tmp_path / "rl" / "questions.jsonl", out)
        walks = list(read_records(out / "graphroll.jsonl", Trajectory.from_json))
        said[plain] = [" ".join(turn.thought for turn in walk.turns) for walk in walks]
    assert said[False] != said[True]
    put = plain_words(LEXICON)
    for walk, thoughts in zip(walks, said[True], strict=True):
        for phrase in put(worded(walk.question)[1]).phrases[0]:
            assert phrase.replace("{x}", "it") in thoughts
