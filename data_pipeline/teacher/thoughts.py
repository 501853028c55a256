"""A teacher's thoughts: one for each step of a trajectory, from what was seen before it."""

from dataclasses import replace

from data_pipeline.teacher.client import TeacherClient
from data_pipeline.teacher.parse import Unreadable, read_text
from data_pipeline.teacher.paths import one_line
from data_pipeline.wording.questions import mentions
from graphwalker.protocols.base import ActionProtocol, Malformed
from graphwalker.trajectory import Trajectory, Turn

LONGEST = 80
"""Words of one thought."""


def with_thoughts(
    client: TeacherClient, protocol: ActionProtocol, trajectory: Trajectory
) -> Trajectory:
    """The trajectory with every thought written by the teacher; nothing else changes.

    A thought that names what no observation has shown yet, or that cannot be written in the
    protocol, is requested again. Raises `Unusable` where that does not help.
    """
    turns: list[Turn] = []
    for number in range(len(trajectory.turns)):
        turns.append(_thought_of(client, protocol, trajectory, turns, number))
    about = {**trajectory.provenance, "thoughts": client.config.model}
    return replace(trajectory, turns=tuple(turns), provenance=about)


def _thought_of(
    client: TeacherClient,
    protocol: ActionProtocol,
    trajectory: Trajectory,
    before: list[Turn],
    number: int,
) -> Turn:
    turn, question = trajectory.turns[number], trajectory.question
    _, action = protocol.parse(turn.completion)
    if isinstance(action, Malformed):
        return turn
    history = _history(before, protocol)
    known = f"{question.text}\n{', '.join(e.name for e in question.topic_entities)}\n{history}"
    hidden = _hidden(trajectory, number, known)

    def read(answer: str) -> str:
        thought = read_text(answer, "thought")
        if len(thought.split()) > LONGEST:
            raise Unreadable(f"it is longer than {LONGEST} words")
        if any(mentions(thought, name) for name in hidden):
            raise Unreadable("it names something that has not been shown yet")
        if "<" in thought or protocol.parse(protocol.render(thought, action)) != (thought, action):
            raise Unreadable("it holds a tag or a step")
        return thought

    kind = "conjunction" if question.query and len(question.query.branches) > 1 else "composition"
    values = {
        "question": one_line(question.text),
        "topics": ", ".join(one_line(entity.name) for entity in question.topic_entities),
        "history": history or "(nothing yet: this is the first step)",
        "action": protocol.render("", action).rpartition("</think>")[2].strip(),
    }
    prompt = client.prompts.fill(f"thought_{kind}", values)
    thought = client.request("thought", prompt, read)
    return replace(turn, thought=thought, completion=protocol.render(thought, action))


def _history(turns: list[Turn], protocol: ActionProtocol) -> str:
    lines: list[str] = []
    for number, turn in enumerate(turns, start=1):
        lines.append(f"Step {number}: {turn.completion}")
        lines.append(protocol.observe(turn.observation))
    return "\n".join(lines)


def _hidden(trajectory: Trajectory, number: int, known: str) -> list[str]:
    """Names that this step or a later one is the first to bring."""
    later = (entity.name for turn in trajectory.turns[number:] for entity in turn.shown)
    answers = (answer.name for answer in trajectory.question.answers)
    own = str(trajectory.turns[number].action)
    names = dict.fromkeys((*later, *answers))
    return [name for name in names if not mentions(known, name) and not mentions(own, name)]
