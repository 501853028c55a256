"""A tool of the user's own: a function that the model calls beside the tools of the preset."""

import ctypes
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Thread
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from graphwalker.errors import GraphWalkerError, UserError
from graphwalker.files import digest
from graphwalker.graphs.base import Entity, KnowledgeGraph
from graphwalker.settings.named import failure, own
from graphwalker.tools.base import (
    Abilities,
    Call,
    ErrorKind,
    Observation,
    ToolBox,
    abilities_of,
    mistake,
)
from graphwalker.tools.functions import Function, Parameter, refusal_of

TIMEOUT_S = 10.0
"""A call that takes longer is told so, and left alone."""
_LONGEST_NAME = 64
"""Characters that chat servers take as the name of a function."""
_USUAL: Mapping[Any, tuple[str, Any, str]] = {
    Entity: ("string", "Name", "An entity, named as in calls of the other tools."),
    str: ("string", "text", "A text."),
    int: ("integer", 1, "A whole number."),
    float: ("number", 0.5, "A number."),
}
"""The JSON type, an example and the description of a parameter that the docstring leaves out."""
_TYPES = "Entity, str, int, float or a list of one of them"
_UNNAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD,
            inspect.Parameter.POSITIONAL_ONLY)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OwnTool:
    """A function of the user's own, with what the model is told of it."""

    setting: str
    """`module:NAME`."""
    function: Function
    run: Callable[..., Any]
    wants_graph: bool
    """Whether its first parameter is the graph."""

    @property
    def signature(self) -> str:
        """How a call is written, and what it does, for a prompt in which calls are written out."""
        arguments = ", ".join(_form(name, p) for name, p in self.function.parameters.items())
        spare = [name for name, p in self.function.parameters.items() if not p.required]
        note = f" ({', '.join(spare)} may be left out)" if spare else ""
        return f"{self.function.name}({arguments}){note}: {self.function.description}"


def _form(name: str, parameter: Parameter) -> str:
    is_list, kind = "array" in parameter.kinds, parameter.kinds[0]
    quoted = f'"{name}"' if (parameter.items if is_list else kind) == "string" else name
    return f"[{quoted}, ...]" if is_list else quoted


def load_tool(setting: str) -> OwnTool:
    """Return the function that `module:NAME` names, read as a tool.

    Raises `UserError` that names the function, and the parameter that does not do.
    """
    found: Any = own(setting, "tool") if ":" in setting else None
    where, name = f"tool {setting}", setting.rpartition(":")[2]
    if not inspect.isfunction(found):
        raise UserError(f"{where}: not a function; write module:NAME of a function")
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or len(name) > _LONGEST_NAME:
        raise UserError(f"{where}: name it with up to {_LONGEST_NAME} letters, digits and _")
    about = inspect.getdoc(found)
    if not about:
        raise UserError(f"{where}: has no docstring; its first paragraph is what the model reads")
    try:
        hints, given = get_type_hints(found), dict(inspect.signature(found).parameters)
    except (NameError, TypeError, ValueError) as error:
        raise UserError(f"{where}: its annotations cannot be read: {failure(error)}") from None
    first = next(iter(given), "")
    wants_graph = hints.get(first) is KnowledgeGraph
    if wants_graph:
        del given[first]
    read = {p.name: _read_parameter(where, p, hints.get(p.name), about) for p in given.values()}
    _check_result(where, hints.get("return", str))
    ordered = sorted(read.items(), key=lambda one: not one[1].required)
    text = " ".join(about.partition("\n\n")[0].split())
    return OwnTool(setting, Function(name, text, dict(ordered)), found, wants_graph)


def _read_parameter(where: str, given: inspect.Parameter, annotation: Any, about: str) -> Parameter:
    if given.kind in _UNNAMED:
        raise UserError(f"{where}: parameter {given.name} has no name in a call; write it plainly")
    if annotation is None:
        move = f"annotate it as {_TYPES}"
        raise UserError(f"{where}: parameter {given.name} has no annotation; {move}")
    inner = _without_none(annotation)
    is_list = get_origin(inner) in (list, Sequence)
    item = get_args(inner)[0] if is_list else inner
    if item not in _USUAL:
        shown = getattr(annotation, "__name__", annotation) if not is_list else annotation
        raise UserError(f"{where}: parameter {given.name} is {shown}; annotate it as {_TYPES}")
    kind, example, usual = _USUAL[item]
    line = re.search(rf"^\s*(?::param )?{given.name}(?: \([^)\n]*\))?: *(.+)$", about, re.M)
    return Parameter(
        "array" if is_list else kind,
        line[1].strip() if line else usual,
        [example] if is_list else example,
        required=given.default is inspect.Parameter.empty,
        items=kind,
        is_entity=item is Entity,
    )


def _without_none(annotation: Any) -> Any:
    """Return T of `T | None`."""
    others = [one for one in get_args(annotation) if one is not NoneType]
    is_union = get_origin(annotation) in (Union, UnionType)
    return others[0] if is_union and len(others) == 1 else annotation


def _check_result(where: str, annotation: Any) -> None:
    is_many = get_origin(annotation) in (list, tuple, Sequence, Union, UnionType)
    for one in get_args(annotation) if is_many else ():
        if one is not ...:
            _check_result(where, one)
    if not is_many and annotation not in (*_USUAL, NoneType):
        shown = getattr(annotation, "__name__", annotation)
        raise UserError(f"{where}: returns {shown}; return {_TYPES}")


def tool_digests(settings: Sequence[str]) -> dict[str, str]:
    """Return 16 characters by tool that tell the file of its function from any other."""
    files = {setting: inspect.getsourcefile(own(setting, "tool")) for setting in settings}
    return {setting: digest(file) if file else "" for setting, file in files.items()}


def changed_tools(recorded: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return a line for each tool whose code is not the one that was recorded."""
    both = [setting for setting in now if recorded.get(setting, now[setting]) != now[setting]]
    return [f"the code of the tool {setting} has changed" for setting in both]


class OwnTools:
    """The tool box of one episode: the preset's, and the user's own tools beside them."""

    def __init__(self, box: ToolBox, tools: Sequence[OwnTool], graph: KnowledgeGraph) -> None:
        """Raise `UserError` for a tool box that cannot tell entities by what a call names."""
        entities = abilities_of(box).entities
        if entities is None:
            raise UserError(
                f"environment.tools: {type(box).__name__} states no ability `entities` "
                "(graphwalker/tools/base.py); take graphwalker, search-on-graph or kg-r1"
            )
        self._box, self._graph, self._entities = box, graph, entities
        self._own = {tool.function.name: tool for tool in tools}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._box, name)

    @property
    def abilities(self) -> Abilities:
        return replace(abilities_of(self._box), choices=self.choices)

    def signatures(self) -> str:
        own_lines = [tool.signature for tool in self._own.values()]
        return "\n".join(filter(None, [self._box.signatures(), *own_lines]))

    def choices(self, call: Call, argument: str) -> Sequence[Any] | None:
        """Return the entities that were shown, for a parameter that takes one."""
        if tool := self._own.get(call.tool):
            takes_entity = tool.function.parameters[argument].is_entity
            return self._entities.shown_names() if takes_entity else None
        usual = abilities_of(self._box).choices
        return usual(call, argument) if usual else None

    def call(self, call: Call) -> Observation:
        tool = self._own.get(call.tool)
        if tool is None:
            seen = self._box.call(call)
            unknown = seen.error == ErrorKind.UNKNOWN_TOOL
            return replace(seen, text=" or ".join([seen.text, *self._own])) if unknown else seen
        if refusal := refusal_of(call, (tool.function,)):
            return refusal
        given: dict[str, Any] = {}
        for name, value in call.arguments.items():
            if value is None:
                continue
            given[name] = self._read(tool.function.parameters[name], value)
            several = given[name] if isinstance(given[name], list) else [given[name]]
            for one in cast(list[Any], several):
                if isinstance(one, Observation):
                    return one
        return self._observe(tool, given)

    def _read(self, parameter: Parameter, value: Any) -> Any:
        """Return the value of the parameter's type; an observation for an unknown entity."""
        if isinstance(value, list | tuple):
            return [self._read(parameter, one) for one in cast(list[Any], value)]
        if parameter.is_entity:
            return self._entities.find_entity(value)
        return float(value) if parameter.items == "number" else value

    def _observe(self, tool: OwnTool, given: Mapping[str, Any]) -> Observation:
        name, first = tool.function.name, (self._graph,) if tool.wants_graph else ()
        found = run_within(lambda: tool.run(*first, **given), TIMEOUT_S)
        if found.failure:
            return mistake(ErrorKind.TOOL_FAILED, f"{name} {found.failure}; try another way")
        result: Any = found.result
        several = cast(Any, result) if isinstance(result, list | tuple) else [result]
        texts, shown = list[str](), list[Entity]()
        for one in several:
            if isinstance(one, Entity):
                entity, text = self._entities.show_entity(one)
                shown.append(entity)
            elif isinstance(one, str | int | float | None):
                text = "" if one is None else str(one).encode("utf-8", "replace").decode()
            else:
                text = f"{name} returned a {type(one).__name__}, which is neither text nor entity"
                return mistake(ErrorKind.TOOL_FAILED, text)
            texts.append(text)
        return Observation(", ".join(filter(None, texts)) or "no result", shown=tuple(shown))


class CallResult(NamedTuple):
    """What a function returned, or in words why it did not."""

    result: Any = None
    failure: str = ""


def run_within(function: Callable[[], Any], seconds: float) -> CallResult:
    """Run the function in a thread of its own for so many seconds.

    Errors of ours (`GraphError`) are raised: they are no fault of the function. A function that is
    not done is asked to end, and does not keep the program from ending.
    """
    ended: list[CallResult | GraphWalkerError] = []

    def work() -> None:
        try:
            ended.append(CallResult(function()))
        except SystemExit:
            ended.append(CallResult(failure="failed: it ended the program"))
        except GraphWalkerError as error:
            ended.append(error)
        except Exception as error:  # the user's code may raise anything
            ended.append(CallResult(failure=f"failed: {type(error).__name__}: {str(error)[:200]}"))

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        # A loop of Python would hold the interpreter's lock for ever; what waits in C sleeps on.
        ident = ctypes.c_ulong(thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
        return CallResult(failure=f"took more than {seconds:g} s")
    if isinstance(ended[0], GraphWalkerError):
        raise ended[0]
    return ended[0]
