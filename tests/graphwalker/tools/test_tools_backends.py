"""Equal calls show equal text on every backend, and a CVT node is never shown."""

import pytest

from graphwalker.graphs.build.build import build_graph
from graphwalker.graphs.compiled.properties import open_compiled
from graphwalker.question import Question
from graphwalker.tools.base import Call
from graphwalker.tools.walker import WalkerTools
from support.toy import MARRIAGE, TOY_NAMES, TOY_TRIPLES, TOY_TYPES, toy_graph


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    rows = {
        "triples": TOY_TRIPLES,
        "names": TOY_NAMES.items(),
        "types": [(i, kind) for i, kinds in TOY_TYPES.items() for kind in kinds],
    }
    paths = {kind: folder / f"{kind}.tsv" for kind in rows}
    for kind, path in paths.items():
        path.write_text("".join("\t".join(row) + "\n" for row in rows[kind]), encoding="utf-8")
    build_graph([paths["triples"]], folder / "graph", paths["names"], paths["types"])
    return open_compiled(folder / "graph")


def observations(graph):
    """Everything the two tools say about every named entity, each in an episode of its own."""
    for index in range(graph.size):
        topic = graph.entity_at(index)
        tools = WalkerTools(graph, Question("q", "Who is married where?", (topic,)))
        listed = tools.call(Call("get_relations", {"entity": topic.name}))
        yield listed
        relations = list(listed.relations)
        for start in range(0, len(relations), 4):
            wanted = {"entity": topic.name, "relations": relations[start : start + 4]}
            yield tools.call(Call("get_triples", wanted))


def test_backends_show_the_same(compiled):
    assert list(observations(compiled)) == list(observations(toy_graph()))


def test_no_cvt_node_is_ever_shown(compiled):
    for seen in observations(compiled):
        assert MARRIAGE not in seen.text
        assert MARRIAGE not in [entity.id for entity in seen.shown]
