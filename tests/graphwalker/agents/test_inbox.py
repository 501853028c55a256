"""An inbox: questions that come, are cancelled and end while a rollout runs."""

import pytest
from test_rollout import DONE, WALK, environment, questions

from graphwalker.agents.rollout import Inbox, Task, rollout
from graphwalker.policies.base import Sampling
from graphwalker.policies.scripted import ScriptedPolicy
from graphwalker.trajectory import Turn


def test_an_inbox_takes_questions_while_the_rollout_runs():
    inbox = Inbox()
    policy = ScriptedPolicy({"first": WALK, "second": [DONE]}, latest_first=True)

    def arrive(task: Task, number: int, turn: Turn) -> None:
        if (task.question.id, number) == ("first", 1):
            inbox.put(questions("second")[0], Sampling())
            inbox.close()

    inbox.put(questions("first")[0], Sampling())
    done = list(rollout(inbox, environment(), policy, on_turn=arrive))
    assert [trajectory.id for trajectory in done] == ["second#2", "first#1"]


def test_a_cancelled_question_ends_before_its_next_completion():
    inbox, policy = Inbox(), ScriptedPolicy({"q": WALK})
    inbox.put(questions("q")[0], Sampling())
    inbox.close()
    run = rollout(inbox, environment(), policy, on_turn=lambda task, *_: inbox.cancel(task))
    assert list(run) == [] and policy.released == ["q#1"]


def test_a_closed_inbox_takes_no_more_but_ends_what_it_has():
    inbox = Inbox()
    inbox.put(questions("q")[0], Sampling())
    inbox.close()
    with pytest.raises(RuntimeError, match="closed"):
        inbox.put(questions("p")[0], Sampling())
    (done,) = rollout(inbox, environment(), ScriptedPolicy({"q": WALK}))
    assert done.answer == ("B",)
