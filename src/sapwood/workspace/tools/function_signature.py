"""Reads the signature and the docstring of a Python function that models may call as a tool."""

import inspect
import re
from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Generic, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from sapwood.core.errors import SapwoodError
from sapwood.core.events import Actor
from sapwood.core.ids import AgentId, Space
from sapwood.core.model_calls import ToolSpec
from sapwood.workspace.tools.tool_arguments import tool_spec

if TYPE_CHECKING:  # a default, so that `ToolContext` alone is a type
    from typing_extensions import TypeVar

    Dependencies = TypeVar("Dependencies", default=Any)
else:
    from typing import TypeVar

    Dependencies = TypeVar("Dependencies")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_SECTION = re.compile(r"^\s*(?:Args|Arguments|Parameters)\s*:\s*$")
_NEXT_SECTION = re.compile(r"^\s*(?:Returns?|Raises|Yields|Examples?|Notes?)\s*:\s*$")
_ARGUMENT = re.compile(r"^\s*(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")


class FunctionToolError(SapwoodError):
    """A function cannot be a tool; the message says why and what to change."""


class ToolContext(Struct, Generic[Dependencies], frozen=True):
    """Where a call of a tool comes from. A function gets it as a parameter of this type.

    The model does not see that parameter. `call` is the id of the tool call. It is the same when a
    call is tried again after a crash, so a service can refuse to do the same thing twice. `owner`,
    `labels` and `metadata` are those of the agent, and `trace` is the `traceparent` of the program
    that gave the prompt. `deps` is what the program gave to `sapwood.runtime`: a function that
    takes a `ToolContext[Shop]` sees its type. `actor` gave the prompt: a person with the name that
    the program or the server knows, a model, or the system.

    >>> def refund(context: ToolContext, order: str) -> str:
    ...     return f"{order} for {context.space}, once: {context.agent}/{context.call}"
    >>> refund(ToolContext(Space("acme"), AgentId("chat-42"), "call_7"), "order 3")
    'order 3 for acme, once: chat-42/call_7'
    """

    space: Space
    agent: AgentId
    call: str
    owner: str = ""
    labels: tuple[str, ...] = ()
    metadata: Mapping[str, str] = {}
    trace: str = ""
    deps: Dependencies = None  # pyright: ignore[reportAssignmentType] # if the program gave none
    actor: Actor | None = None


class FunctionSignature(Struct, frozen=True):
    """What a call of the function takes: the tool for models, and the type of its arguments.

    `context` is the name of the parameter that gets a `ToolContext`; '' if there is none.
    """

    spec: ToolSpec
    arguments: type[Struct]
    context: str


def read_signature(function: Callable[..., object], name: str = "") -> FunctionSignature:
    """Returns the tool that a function is. Raises `FunctionToolError` if it cannot be one.

    >>> def weather(city: str, days: int = 1) -> str:
    ...     '''Says what the weather will be.
    ...
    ...     Args:
    ...         city: The name of the city.
    ...     '''
    ...     return "snow"
    >>> print(read_signature(weather).spec.schema)
    {"type":"object","properties":{"city":{"description":"The name of the city.",\
"type":"string"},\
"days":{"type":"integer","default":1}},"required":["city"],"additionalProperties":false}
    """
    called = name or getattr(function, "__name__", "")
    if not _NAME.fullmatch(called):
        raise FunctionToolError(
            f"{function!r} has no name that a model can call. Give it one: tool(name='…')."
        )
    description, explained = _docstring(function)
    hints = _hints(function, called)
    fields: list[Any] = []
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise FunctionToolError(
                f"The tool {called} takes '{parameter}'. A model needs a named parameter for "
                "each value."
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise FunctionToolError(
                f"The parameter {parameter.name} of the tool {called} is positional-only. "
                "Remove the '/' from its signature."
            )
        kind = hints.get(parameter.name)
        if kind is None:
            raise FunctionToolError(
                f"The parameter {parameter.name} of the tool {called} has no type. Annotate it."
            )
        if kind is ToolContext or get_origin(kind) is ToolContext:
            context = parameter.name
            continue
        fields.append(_field(parameter, kind, explained))
    arguments = _arguments(called, fields)
    return FunctionSignature(_spec(called, description, arguments), arguments, context)


def _hints(function: Callable[..., object], name: str) -> Mapping[str, Any]:
    try:
        return get_type_hints(function, include_extras=True)
    except Exception as error:  # the annotations of another program may raise anything
        raise FunctionToolError(
            f"The types of the tool {name} cannot be read: {error}. Import them in its module."
        ) from error


def _field(parameter: inspect.Parameter, kind: Any, explained: Mapping[str, str]) -> Any:
    text = explained.get(parameter.name, "")
    if text and not _is_described(kind):
        kind = Annotated[kind, Meta(description=text)]
    if parameter.default is parameter.empty:
        return (parameter.name, kind)
    default: object = parameter.default
    if isinstance(default, list | dict | set | bytearray):
        return (parameter.name, kind, msgspec.field(default_factory=partial(copy, default)))
    return (parameter.name, kind, parameter.default)


def _is_described(kind: Any) -> bool:
    return get_origin(kind) is Annotated and any(
        isinstance(each, Meta) and each.description for each in get_args(kind)[1:]
    )


def _arguments(name: str, fields: list[Any]) -> type[Struct]:
    try:
        return msgspec.defstruct(
            f"{name}_arguments", fields, kw_only=True, frozen=True, forbid_unknown_fields=True
        )
    except TypeError as error:
        raise FunctionToolError(f"The tool {name} cannot be described: {error}.") from error


def _spec(name: str, description: str, arguments: type[Struct]) -> ToolSpec:
    try:
        return tool_spec(name, description, arguments)
    except TypeError as error:
        raise FunctionToolError(
            f"A type of the tool {name} has no JSON Schema: {error} "
            "Use text, numbers, lists, dicts, dataclasses or msgspec structs."
        ) from error


def _docstring(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """The description of the function, and those of its parameters from a section 'Args:'."""
    lines = (inspect.getdoc(function) or "").splitlines()
    start = next((at for at, line in enumerate(lines) if _SECTION.match(line)), len(lines))
    explained: dict[str, str] = {}
    last = ""
    for line in lines[start + 1 :]:
        if _NEXT_SECTION.match(line):
            break
        found = _ARGUMENT.match(line)
        if found:
            last = found[1]
            explained[last] = found[2].strip()
        elif last and line.strip():
            explained[last] += f" {line.strip()}"
    end = next((at for at, line in enumerate(lines) if _NEXT_SECTION.match(line)), len(lines))
    return "\n".join(lines[: min(start, end)]).strip(), explained
