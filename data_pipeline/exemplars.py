"""Exemplars of a prompt: questions made from the graph at hand, played by the oracle."""

from collections.abc import Iterable, Iterator
from itertools import cycle, islice

from data_pipeline.attempts import Maker
from data_pipeline.config import SynthConfig
from graphwalker.agents.environment import Environment, EnvironmentConfig
from graphwalker.agents.rollout import rollout, without_times
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.question import Question
from graphwalker.scoring import score
from graphwalker.trajectory import Trajectory

STRUCTURES = ("2-hop", "1-hop")
EXAMPLES = ("1-hop", "2-hop", "2I", "2-hop", "3-hop")
EXAMPLE_ATTEMPTS = 200
ATTEMPTS = 300
"""Attempts of each structure before the graph is given up."""


def make_exemplars(
    graph: KnowledgeGraph, config: EnvironmentConfig, seed: int, questions: Iterable[Question]
) -> list[Trajectory]:
    """Return `config.exemplars` right episodes of the oracle in the environment, the same for a
    seed. None starts from the topic entities of a question of `questions`.

    Raises `UserError` where the graph or the preset gives fewer.
    """
    if not graph.size:
        raise UserError(
            "environment.exemplars: walks are made on a graph that lists its entities, which this "
            "one does not; set exemplars=0, or compile the graph (graphwalker graph build)"
        )
    plain = config.model_copy(update={"exemplars": 0, "constrained": False, "answers": "strict"})
    environment = Environment(graph, plain)
    taken = {_topics(question) for question in questions}
    episodes = list(islice(_episodes(graph, environment, seed, taken), config.exemplars))
    if len(episodes) < config.exemplars:
        raise UserError(
            f"environment.exemplars={config.exemplars}: {2 * ATTEMPTS} walks of this graph gave "
            f"{len(episodes)} that the oracle plays with {environment.name} and no question asks "
            "about; take fewer"
        )
    return episodes


def make_examples(
    graph: KnowledgeGraph, config: EnvironmentConfig, count: int = 5, seed: int = 0
) -> list[Question]:
    """Questions that the graph answers, to show what can be asked; fewer, or none, where it lists
    no entities or attempts fail."""
    where = EnvironmentConfig(layers=config.layers)
    settings = SynthConfig(seed=seed, split="any", environment=where, informal=0.0, vague=0.0)
    if not graph.size:
        return []
    maker = Maker(graph, settings, dataset="example")
    found: dict[frozenset[str], Question] = {}
    for number, structure in enumerate(islice(cycle(EXAMPLES), EXAMPLE_ATTEMPTS)):
        made = maker.attempt(structure, number)
        if made.trajectory is not None:
            found.setdefault(_topics(made.trajectory.question), made.trajectory.question)
        if len(found) == count:
            break
    return list(found.values())


def _episodes(
    graph: KnowledgeGraph, environment: Environment, seed: int, taken: set[frozenset[str]]
) -> Iterator[Trajectory]:
    """Right episodes, each about other topic entities."""
    speaks = environment.speaker is not None
    where = environment.config if speaks else EnvironmentConfig(layers=environment.config.layers)
    settings = SynthConfig(seed=seed, split="any", environment=where, informal=0.0, vague=0.0)
    maker = Maker(graph, settings, dataset="exemplar")
    for number, structure in enumerate(islice(cycle(STRUCTURES), 2 * ATTEMPTS)):
        made = maker.attempt(structure, number)
        if made.trajectory is None or _topics(made.trajectory.question) in taken:
            continue
        episode = made.trajectory if speaks else _play(made.trajectory.question, environment)
        if episode is not None:
            taken.add(_topics(episode.question))
            yield episode


def _play(question: Question, environment: Environment) -> Trajectory | None:
    """Return the episode of the preset's own oracle, where it is right."""
    if environment.oracle is None or not environment.oracle.plays(question):
        return None
    policy = environment.oracle.make(environment)
    episode = without_times(next(rollout([question], environment, policy)))
    if episode.stop.infrastructure_failure or score(episode)["em"] < 1:
        return None
    return episode


def _topics(question: Question) -> frozenset[str]:
    return frozenset(entity.id for entity in question.topic_entities)
