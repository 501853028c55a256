"""Layers of a graph by their settings: what an environment changes about the graph beneath it."""

import logging
from multiprocessing import parent_process

from pydantic import Field

from graphwalker.config import Config
from graphwalker.errors import UserError
from graphwalker.graphs.base import KnowledgeGraph
from graphwalker.graphs.views.sets import GraphSet
from graphwalker.trust import FilePath, PlainTexts

log = logging.getLogger(__name__)


class GraphLayers(Config):
    """Views laid over the graph, in the order of these fields. The default lays none."""

    block = "layers"

    wikidata: bool = False
    """The graph holds Wikidata's IRIs: show QIDs, readable properties, qualifiers."""
    statements: bool = False
    """With `wikidata`: statements are nodes named after what they say (`educated at: St John's
    College`), so a qualifier is found at its own statement. Otherwise `p..pq` leads from the entity
    to the qualifiers of all its statements."""
    aliases: FilePath = ""
    """An index of names (`graphwalker graph index`): names resolve by alias, too."""
    hidden_share: float = Field(default=0.0, ge=0, le=1)
    """Share of the triples that are hidden, an incomplete graph as in Generate-on-Graph."""
    hidden_seed: int = 0
    """Which triples those are."""
    hidden_triples: FilePath = ""
    """A file of crucial triples that are hidden besides: head, relation, tail, tab-separated."""
    freebase_schema: FilePath = ""
    """A folder with `cvt_types.txt`, `roles.tsv`, `reverse_properties.tsv` (plain or .gz): CVT
    nodes by their types, inverse relations; a hidden triple takes its inverse along."""
    predicates: FilePath = ""
    """A whitelist of relations (`predicates_*.json.gz`). GraphWalker's hides a gold relation in
    22 % of CWQ's questions."""
    languages: PlainTexts = ()
    """Texts tagged with other languages are not shown. Empty: all are shown."""


def with_layers(graph: KnowledgeGraph, layers: GraphLayers) -> KnowledgeGraph:
    """Get the graph under its layers; the graph itself where there are none. Raises `UserError`."""
    # Once, not in each worker; an endpoint would be asked.
    if not layers.wikidata and not graph.is_remote and parent_process() is None:
        _hint_wikidata(graph)
    if layers == GraphLayers():
        return graph
    from graphwalker.graphs.views.filtered import HiddenGraph, read_facts
    from graphwalker.graphs.views.freebase import (
        FreebaseGraph,
        FreebaseSchema,
        load_predicates,
        load_schema,
    )
    from graphwalker.graphs.views.wikidata import SHOWN, WikidataGraph

    if layers.wikidata and (layers.freebase_schema or layers.predicates):
        raise UserError("layers: wikidata goes with neither freebase_schema nor predicates")
    if layers.statements and not layers.wikidata:
        raise UserError("layers: statements are Wikidata's: set wikidata=true, too")
    schema = load_schema(layers.freebase_schema) if layers.freebase_schema else FreebaseSchema()
    facts = read_facts(layers.hidden_triples) if layers.hidden_triples else []
    predicates = load_predicates(layers.predicates) if layers.predicates else None

    def lay(graph: KnowledgeGraph) -> KnowledgeGraph:
        if layers.wikidata and not isinstance(graph, WikidataGraph):  # as walks are made on it
            shown = (*SHOWN, "ps") if layers.statements else SHOWN
            graph = WikidataGraph(graph, shown, statements=layers.statements)
        if layers.aliases:
            graph = _with_aliases(graph, layers.aliases)
        if layers.hidden_share or facts:
            hidden = layers.hidden_share, layers.hidden_seed
            graph = HiddenGraph(graph, *hidden, facts, schema.inverses)
        if layers.freebase_schema or predicates is not None or layers.languages:
            graph = FreebaseGraph(graph, schema, predicates, languages=layers.languages)
        return graph

    return graph.under(lay) if isinstance(graph, GraphSet) else lay(graph)


def _hint_wikidata(graph: KnowledgeGraph) -> None:
    """Say that a graph of Wikidata's addresses has a layer for them."""
    from graphwalker.graphs.views.wikidata import PROPERTIES

    listed = [] if isinstance(graph, GraphSet) else graph.relation_ids()
    if found := next((one for one in listed if one.startswith(PROPERTIES["p"])), ""):
        log.warning(
            "relations are addresses of Wikidata (%s): layers.wikidata=true (in environments, "
            "environment.layers.wikidata=true) shows QIDs and readable properties",
            found,
        )


def _with_aliases(graph: KnowledgeGraph, path: str) -> KnowledgeGraph:
    from graphwalker.graphs.views.name_index import AliasedGraph, open_index

    return AliasedGraph(graph, open_index(path, graph.checksum))
