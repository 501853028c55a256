"""Grammars of the next completion, for constrained decoding: one text for every engine.

A grammar is text in GBNF, which xgrammar (`engine=transformers`, vLLM) and llama.cpp read. The
thought and the choice of the action are free. The action is written as its protocol renders it, and
names what the episode has shown. A call whose whole result was shown is not made again; one that
was cut is made again for its next page. An answer names what results have shown; it is empty only
after relations were listed, so that a model has to look before it answers.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphwalker.graphs.literals import is_literal
from graphwalker.tokens.tool_calls import neutral
from graphwalker.tools.base import Call, Choices, ToolBox, abilities_of
from graphwalker.tools.functions import Function, Parameter
from graphwalker.trajectory import Turn

ENTITY, RELATIONS = "entity", ("relation", "relations")
"""Arguments of calls that hold names of entities, and of relations."""
LIST = "relations"
"""The argument that is written as a list."""
PAGE = "page"
"""The last argument, a number; page 1 is written without it."""
_STRING = r'"\"" ([^"\\<] | "\\" [^<])* "\""'
_INTEGER = '"-"? ("0" | [1-9] [0-9]{0,15})'
_FREE = {
    "string": _STRING,
    "number": f'{_INTEGER} ("." [0-9]{{1,15}})?',
    "integer": _INTEGER,
    "boolean": '"true" | "false"',
}
"""What a value of a JSON type may be where the tools do not know."""


def _free_list(items: str = "string") -> str:
    """Return the expression of a list of values of a JSON type."""
    one = f"({_FREE[items]})"
    return f'"[" ({one} (", " {one})*)? "]"'


@dataclass(slots=True)
class GrammarFacts:
    """What an episode has shown so far."""

    names: dict[str, str] = field(default_factory=dict[str, str])
    """Ids of entities by the names shown; `""` for a topic entity without an id."""
    found: dict[str, None] = field(default_factory=dict[str, None])
    """Names that results have shown: what an answer may name."""
    listed: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    """Relations by the id of the entity at which they were listed."""
    relations: dict[str, None] = field(default_factory=dict[str, None])
    spent: set[tuple[str, str, str]] = field(default_factory=set[tuple[str, str, str]])
    """(tool, entity's name, relation or `""`) of calls that would show nothing new."""
    cut: dict[tuple[str, str, str], int] = field(default_factory=dict[tuple[str, str, str], int])
    """The last page shown of calls whose result was cut."""
    choices: Choices | None = None
    """The values that an argument may have, where the tools know them."""

    def answers(self, must_answer: bool) -> list[str]:
        """Return the names that an answer may hold; `must_answer`: there is nothing else to do."""
        return [*(self.found or (self.names if must_answer else ()))]

    def may_be_empty(self, must_answer: bool) -> bool:
        """Return whether an answer may be empty: relations were listed, or nothing else is left."""
        return must_answer or bool(self.relations)

    def add(self, turn: Turn) -> None:
        """Add what a turn has shown."""
        self.names.update((entity.name, entity.id) for entity in turn.shown)
        self.found.update((entity.name, None) for entity in turn.shown)
        for entity_id, hops in turn.listed:
            found = dict.fromkeys(hop.relation for hop in hops)
            self.listed.setdefault(entity_id, {}).update(found)
            self.relations.update(found)
        if "tool" not in turn.action:
            return
        arguments: dict[str, Any] = turn.action["arguments"]
        value: Any = next((arguments[key] for key in RELATIONS if key in arguments), "")
        # A model may have written anything there, such as a number.
        relations: list[Any] = [*value] if isinstance(value, list | tuple) else [value]
        entity = str(arguments.get(ENTITY))
        calls = {(turn.action["tool"], entity, str(relation)) for relation in relations}
        if turn.hidden and not turn.error:
            page = arguments.get(PAGE, 1)
            self.cut.update(dict.fromkeys(calls, page if isinstance(page, int) else 1))
        else:
            self.spent.update(calls)


def episode_facts(tools: ToolBox, turns: Iterable[Turn]) -> GrammarFacts:
    """Collect what the turns of an episode have shown."""
    names = {name: tools.entity_id(name) for name in tools.topic_names()}
    facts = GrammarFacts(names, choices=abilities_of(tools).choices)
    for turn in turns:
        facts.add(turn)
    return facts


class Rules:
    """The rules of a grammar while it grows. An expression is the right side of a rule.

    >>> rules = Rules()
    >>> rules.text(f"{literal('<a>')} {rules.any_of(['x', 'y'])}")
    'root ::= "<a>" r1\\nr1 ::= "x" | "y"\\n'
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def rule(self, expression: str, name: str = "") -> str:
        """Return the name of a rule for the expression. Rules that name each other choose `name`.

        Free text is such rules, a character each: of a loop over several alternatives, xgrammar
        0.2 weighs the whole vocabulary anew at each token (45 ms for one of 49,000).
        """
        return self._names.setdefault(expression, name or f"r{len(self._names) + 1}")

    def any_of(self, texts: Iterable[str]) -> str:
        """Return the name of a rule for one of the texts."""
        return self.rule(" | ".join(map(literal, dict.fromkeys(texts))))

    def list_of(self, texts: Sequence[str], separator: str = ", ") -> str:
        """Return an expression for one to all of the texts. A text may be written twice: without
        repeats a grammar would need a rule for each subset."""
        one, more = self.any_of(texts), len(texts) - 1
        return f"{one} ({literal(separator)} {one}){{0,{more}}}" if more else one

    def text(self, root: str) -> str:
        """Return the grammar."""
        rules = [f"{name} ::= {expression}\n" for expression, name in self._names.items()]
        return "".join([f"root ::= {root}\n", *rules])


def literal(text: str) -> str:
    """Return the text as an expression."""
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    text = re.sub(r'["\\]', r"\\\g<0>", text)
    return f'"{text}"'.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def tag_grammar(
    facts: GrammarFacts,
    tools: Mapping[str, Sequence[str]],
    functions: Sequence[Function],
    call_tag: str,
    neutral: Callable[[str], str],
    pages: bool,
    forced: bool,
) -> str:
    """Return the grammar of calls such as `tool("Name", ["a.b"])` and answers such as `["Name"]`.

    `tools`: the names of each tool's arguments, in the order in which they are written;
    `functions`: tools that state the types of their arguments instead; `neutral` escapes what could
    act as a tag; `pages`: a call that was cut may be made again for its next page; `forced`: an
    answer is all that is asked for.
    """
    rules = Rules()
    writer = _TagWriter(facts, rules, neutral, pages)
    calls = [call for tool, keys in tools.items() for call in writer.calls(tool, keys)]
    calls += map(writer.function, functions)
    must_answer = forced or not calls
    names, actions = facts.answers(must_answer), list[str]()
    empty = facts.may_be_empty(must_answer)
    if names or empty:
        some = f"({rules.list_of(writer.write(names))})" if names else ""
        optional = "?" if names and empty else ""
        actions.append(f'"<answer> [" {some}{optional} "] </answer>"')
    if not must_answer:
        calls_rule = rules.rule(" | ".join(calls))
        actions.append(f'"<{call_tag}> " {calls_rule} " </{call_tag}>"')
    thought = rules.rule('[^<] thought | "<" bracket', "thought")
    rules.rule('"<" bracket | [^</] thought | "/" slash', "bracket")
    rules.rule('[^<t] thought | "think>" [ \\n]*', "slash")
    return rules.text(f'("<think>" {thought})? ({" | ".join(actions)})')


@dataclass(frozen=True, slots=True)
class _TagWriter:
    """Writes the calls of the tag protocol as expressions."""

    facts: GrammarFacts
    rules: Rules
    neutral: Callable[[str], str]
    pages: bool

    def write(self, texts: Iterable[str]) -> list[str]:
        return [self.neutral(json.dumps(text, ensure_ascii=False)) for text in texts]

    def calls(self, tool: str, keys: Sequence[str]) -> list[str]:
        """Return the calls of a tool; entities that take the same arguments share one."""
        if ENTITY not in keys:
            return [self._call(tool, keys, (), (), 1)]
        groups: dict[tuple[tuple[str, ...], int], list[str]] = {}
        for name in self._entities():
            for page, relations in self._relations(tool, keys, name).items():
                groups.setdefault((relations, page), []).append(name)
        return [self._call(tool, keys, names, *group) for group, names in groups.items()]

    def function(self, function: Function) -> str:
        """Return the calls of a tool whose arguments have types, optional ones last."""
        written = ""
        for place, (name, parameter) in reversed([*enumerate(function.parameters.items())]):
            comma = '", " ' if place else ""
            one = f"{comma}{self._value(function, name, parameter)} {written}"
            written = one if parameter.required else f"({one})?"
        return f'{literal(f"{function.name}(")} {written} ")"'

    def _value(self, function: Function, name: str, parameter: Parameter) -> str:
        known = self.facts.choices(Call(function.name), name) if self.facts.choices else None
        values = self.write(map(str, known or ()))
        if "array" in parameter.kinds:
            one = f'"[" {self.rules.list_of(values)} "]"' if values else _free_list(parameter.items)
            return self.rules.rule(one)
        return self.rules.any_of(values) if values else self.rules.rule(_FREE[parameter.kinds[0]])

    def _entities(self) -> list[str]:
        return [name for name, entity in self.facts.names.items() if not is_literal(entity)]

    def _relations(self, tool: str, keys: Sequence[str], name: str) -> dict[int, tuple[str, ...]]:
        """Return the relations that a call may take at an entity, by the page that it shows; a
        tool that takes none has the relation `""`."""
        facts, listed = self.facts, [""]
        if any(key in RELATIONS for key in keys):
            listed = [*facts.listed.get(facts.names.get(name, name), facts.relations)]
        found: dict[int, tuple[str, ...]] = {}
        for relation in listed:
            call = (tool, name, relation)
            if call not in facts.spent and (self.pages or call not in facts.cut):
                page = facts.cut.get(call, 0) + 1
                found[page] = (*found.get(page, ()), relation)
        return found

    def _call(
        self,
        tool: str,
        keys: Sequence[str],
        names: Sequence[str],
        relations: Sequence[str],
        page: int,
    ) -> str:
        parts: list[str] = []
        for key in keys:
            if key == ENTITY:
                parts.append(self.rules.any_of(self.write(names)))
            elif key == LIST and relations:
                parts.append(f'"[" {self.rules.list_of(self.write(relations))} "]"')
            elif key in RELATIONS and relations:
                parts.append(self.rules.any_of(self.write(relations)))
            else:
                parts.append(self.rules.rule(_free_list() if key == LIST else _STRING))
        parts += [f'"{page}"'] if page > 1 else []
        arguments = ' ", " '.join(parts)
        return f'{literal(f"{tool}(")} {arguments} ")"'


def call_grammar(
    functions: Sequence[Function],
    choices: Choices | None,
    answers: Sequence[str] | None,
    parallel: bool,
    forced: bool,
    empty: bool = False,
) -> str:
    """Return the grammar of calls as `<tool_call>` JSON and of answers.

    `answers`: what an answer in braces may be, braces included; `None` where a text without a call
    is the answer; `parallel`: several calls may stand in one message; `empty`: so may the answer
    be.
    """
    rules = Rules()
    written = [_function(function, choices, rules) for function in functions]
    brace = "" if answers is None else "{"
    text = rules.rule(f'"" | [^<{brace}] text | "<" bracket', "text")
    rules.rule(f'"<" bracket | [^<t{brace}] text', "bracket")
    actions: list[str] = []
    if written and not forced:
        call = rules.rule(f'"<tool_call>\\n" ({" | ".join(written)}) "\\n</tool_call>"')
        actions.append(f'{call} ("\\n" {call}){{0,15}}' if parallel else call)
    if answers is not None:
        some = [rules.list_of(answers, " ")] if answers else []
        some += ['"{}"'] if empty or forced or not written else []
        actions += [f'"Final answer: " ({" | ".join(some)})'] if some else []
    optional = "?" if answers is None else ""
    return rules.text(f"{text} ({' | '.join(actions)}){optional}" if actions else text)


def _function(function: Function, choices: Choices | None, rules: Rules) -> str:
    opening = literal(f'{{"name": {_json(function.name)}, "arguments": {{')
    arguments = _arguments(function, [*function.parameters], {}, True, choices, rules)
    return f'{opening} {arguments} "}}}}"'


def _arguments(
    function: Function,
    left: Sequence[str],
    given: dict[str, Any],
    first: bool,
    choices: Choices | None,
    rules: Rules,
) -> str:
    """Return the expression of the arguments that are left, after those whose values are `given`;
    `first`: none is written yet."""
    if not left:
        return ""
    name, rest = left[0], left[1:]
    parameter = function.parameters[name]
    found = choices(Call(function.name, given), name) if choices else None
    values = [*(found or parameter.choices)]
    key = literal(f"{'' if first else ', '}{_json(name)}: ")
    if values and "array" not in parameter.kinds:
        groups: dict[str, list[str]] = {}
        for value in values:
            more = _arguments(function, rest, {**given, name: value}, False, choices, rules)
            groups.setdefault(more, []).append(_json(value))
        parts = [f"{rules.any_of(texts)} {more}" for more, texts in groups.items()]
        expression = f"{key} ({' | '.join(parts)})"
    else:
        one = f'"[" {rules.list_of([*map(_json, values)])} "]"' if values else ""
        kinds = (_free_list(parameter.items) if k == "array" else _FREE[k] for k in parameter.kinds)
        free = rules.rule(one or " | ".join(kinds))
        expression = f"{key} {free} {_arguments(function, rest, given, False, choices, rules)}"
    if parameter.required:
        return rules.rule(expression)
    skipped = _arguments(function, rest, given, first, choices, rules)
    return rules.rule(f"{expression} | {skipped}" if skipped else f"({expression})?")


def _json(value: Any) -> str:
    return neutral(json.dumps(value, ensure_ascii=False))
