"""The same agent as in `search_agent.py`, its tool called as a function."""

from dataclasses import replace

from graphwalker.protocols.functions import FunctionProtocol
from graphwalker.tokens.tool_calls import block_of_tools
from graphwalker.tools.functions import Function, Parameter, refusal_of
from support.search_agent import SPEC, SearchTools

SEARCH = Function(
    "search",
    "The triples of an entity in one direction.",
    {
        "entity": Parameter("string", "A name as shown.", "Name"),
        "direction": Parameter("string", "Which way.", "outgoing", ("outgoing", "incoming")),
    },
)
PROTOCOL = FunctionProtocol([SEARCH])


class FunctionTools(SearchTools):
    def call(self, call):
        return refusal_of(call, self.functions()) or super().call(call)

    def functions(self):
        return (SEARCH,)

    def signatures(self):
        return block_of_tools(PROTOCOL.schemas)


SPEC = replace(
    SPEC,
    name="one-function",
    tools=lambda graph, settings, rank: lambda question: FunctionTools(graph, question, 50),
    protocol=lambda settings: PROTOCOL,
)
