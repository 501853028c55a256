"""Referenced rejection: thoughts to the gold actions, kept where they lead there unaided."""

import re
from dataclasses import replace

import pytest
from pydantic import ValidationError

from data_pipeline.config import ExpertConfig
from data_pipeline.experts.referenced import KEPT, play_referenced
from data_pipeline.experts.rejection import fault
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout
from graphwalker.errors import PolicyError, UserError
from graphwalker.graphs.base import Entity
from graphwalker.oracle.oracle import OraclePolicy
from graphwalker.policies.base import Completion, Sampling
from graphwalker.query.query import Branch, Hop, Query
from graphwalker.question import Answer, Question
from graphwalker.scoring import score
from support.toy import toy_graph

GRAPH = toy_graph()
ENVIRONMENT = Environment(GRAPH, EnvironmentConfig(prompt="compact"))
ADA = Entity("m.0ada", "Ada Mbeki")
HOPS = (Hop("people.person.place_of_birth"), Hop("location.location.containedby"))
QUESTIONS = [
    Question(
        f"q{i}", "Which land was Ada Mbeki born in?", (ADA,), (Answer("Verria", "m.0land"),),
        query=Query((Branch(ADA, HOPS),)),
    )
    for i in range(2)
]  # fmt: skip


class Thinker:
    """Shown an action, it writes `thoughts[turn]` before it; unaided, it takes the action that it
    was shown there only where its thought has the word "so"."""

    name = "thinker"

    def __init__(self, thoughts):
        self.thoughts, self.asked, self._done, self._shown = thoughts, [], [], {}

    def submit(self, request):
        self.asked.append(request)
        episode, number, how = request.key.rsplit("/", 2)
        note = request.messages[-1].content
        if how == "aided":
            self._shown[episode, number] = re.search(r"<(kg-query|answer)>.*</\1>", note)[0]
        action = self._shown[episode, number]
        thought = self.thoughts[int(number)]
        if how == "unaided" and "so" not in thought.split():
            action = '<answer> ["Drama"] </answer>'
        text = f"<think> {thought} </think>\n{action}"
        self._done.append((request.key, Completion(text)))

    def collect(self):
        done, self._done = self._done, []
        return done

    def release(self, key):
        pass


GOOD = "I look there, so be it."


def thought_by(*thoughts: str, questions=QUESTIONS):
    policy = Thinker([*thoughts, *["Hm."] * 9])
    return policy, list(play_referenced(questions, ENVIRONMENT, policy, Sampling()))


def plain():
    oracle = OraclePolicy(GRAPH, ENVIRONMENT.protocol, speaker=ENVIRONMENT.speaker)
    return list(rollout(QUESTIONS, ENVIRONMENT, oracle))


def test_thoughts_that_lead_to_the_action_are_kept_and_others_stay_the_oracles() -> None:
    _, episodes = thought_by(GOOD, "I do not know.", GOOD)
    for episode, gold in zip(episodes, plain(), strict=True):
        assert episode.provenance[KEPT] == [0, 2]
        assert [t.action for t in episode.turns] == [t.action for t in gold.turns]
        assert [t.thought for t in episode.turns][:3] == [GOOD, gold.turns[1].thought, GOOD]
        assert ENVIRONMENT.protocol.parse(episode.turns[0].completion)[0] == GOOD
        assert episode.policy == "oracle+thinker"


def test_nothing_of_the_reference_stands_in_the_data() -> None:
    policy, episodes = thought_by(GOOD, GOOD, GOOD)
    said = [m.content for e in episodes for t in e.turns for m in t.context]
    assert not any("settled" in text or "Your thought on this" in text for text in said)
    later = [r for r in policy.asked if r.key.startswith("q0") and "/1/" in r.key]
    assert [m.content for m in later[0].messages if m.role == "assistant"] == [
        episodes[0].turns[0].completion  # each turn is asked for after the thoughts that were kept
    ]


def test_a_thought_that_knows_too_much_or_breaks_the_form_is_not_kept() -> None:
    for thought in ["Verria it is, so be it.", "<answer> so"]:
        _, episodes = thought_by(thought)
        assert episodes[0].provenance[KEPT] == []


def test_an_episode_without_a_thought_of_the_policys_is_rejected() -> None:
    _, (none, _) = thought_by("Hm.")
    _, (one, _) = thought_by(GOOD)
    assert fault(none.with_scores(**score(none))) == "no_thought"
    assert fault(one.with_scores(**score(one))) == ""


def test_questions_without_gold_actions_and_failures_are_told_of() -> None:
    with pytest.raises(UserError, match="referenced: q0 has no query, "):
        thought_by(questions=[replace(QUESTIONS[0], query=None), QUESTIONS[1]])

    class Broken(Thinker):
        def collect(self):
            return [(request.key, PolicyError("no answer")) for request in self.asked]

    with pytest.raises(PolicyError, match="no answer"):
        list(play_referenced(QUESTIONS, ENVIRONMENT, Broken([GOOD] * 9), Sampling()))
    with pytest.raises(ValidationError, match="referenced is for a policy"):
        ExpertConfig(referenced=True)
