"""The description of the API in OpenAPI 3.1, made from the types of the table of routes.

Schemas are those of the types that handlers read and answer with. What is sent may leave out fields
that have a default; an answer has every field, unless its type leaves out defaults.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from inspect import cleandoc
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct, defstruct

from sapwood.core.events import Event, UnreadableEvent
from sapwood.core.ids import AgentId, CommandId
from sapwood.display.json_values import EventValue
from sapwood_server.problems import PROBLEM_TYPE, ProblemDocument
from sapwood_server.request_context import Endpoint

Schema = dict[str, Any]

_REF = "#/components/schemas/"
_EVENT = "Event"
_ENVELOPE = (
    ("agent", AgentId),
    ("version", int),
    ("at", datetime),
    ("actor", str),
    ("command", CommandId),
)
_KINDS = tuple(
    defstruct(
        f"{each.__name__}Event", [*_ENVELOPE, ("data", each)], tag_field="kind", tag=each.kind
    )
    for each in get_args(Event)
    if each is not UnreadableEvent
)
_UNREADABLE = defstruct(
    "UnreadableEventEvent",
    [*_ENVELOPE, ("kind", str), ("data", UnreadableEvent), ("unreadable", bool)],
)


def openapi_document(endpoints: Iterable[Endpoint]) -> Schema:
    """The document of those of these routes that are part of the API."""
    described = [each for each in endpoints if each.is_described]
    schemas = _Schemas(described)
    paths: dict[str, Schema] = {}
    for endpoint in described:
        paths.setdefault(endpoint.template, {})[endpoint.method.lower()] = _operation(
            endpoint, schemas
        )
    problem = {PROBLEM_TYPE: {"schema": schemas.of(ProblemDocument)}}
    challenge = {"WWW-Authenticate": {"schema": {"type": "string"}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sapwood",
            "version": version("sapwood"),
            "description": "Agent conversations: everything is kept, and you decide what the "
            "model sees. Each slash command is one route. Unknown fields are refused.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "responses": {
                "Problem": {"description": "A problem document.", "content": problem},
                "Unauthorized": {
                    "description": "The token is missing or unknown.",
                    "headers": challenge,
                    "content": problem,
                },
            },
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


class _Schemas:
    """The schemas of all types, by reference."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        sent, answered = list[Any](), list[Any]([ProblemDocument, *_KINDS, _UNREADABLE])
        asked = dict.fromkeys(each.query for each in endpoints if each.query is not None)
        for each in endpoints:
            sent += [each.request] if each.request is not None else []
            answered += [each.response] if each.response is not None else []
            answered += [kind for kinds in each.messages.values() for kind in kinds]
        types = [*sent, *asked, *answered]
        found, components = msgspec.json.schema_components(
            types, schema_hook=_special, ref_template=_REF + "{name}"
        )
        plain = {name: _plain_name(name) for name in components}
        renamed = _renamed({"found": found, "components": components}, plain)
        _limit_tuples(renamed)
        self.components: dict[str, Schema] = {
            plain[name]: schema for name, schema in renamed["components"].items()
        }
        self._found = dict(zip(types, renamed["found"], strict=True))
        refs = [f"{_REF}{each.__name__}" for each in (*_KINDS, _UNREADABLE)]
        self.components[_EVENT] = {
            "title": _EVENT,
            "description": EventValue.__doc__,
            "anyOf": [{"$ref": each} for each in refs],
        }
        self.queries = {each: self.components.pop(each.__name__) for each in asked}
        """The parameters of queries, by their type."""
        self._require_answered_fields(sent, answered)
        for name, schema in self.components.items():
            schema["title"] = name
            for field in schema.get("properties", {}).values():
                # Every default of a body is an empty value. Generators of TypeScript take a field
                # with a default for one that is always there.
                field.pop("default", None)
            schema["description"] = _described(schema.get("description", ""))

    def of(self, kind: object) -> Schema:
        """The schema of a type."""
        return self._found[kind]

    def _require_answered_fields(self, sent: list[Any], answered: list[Any]) -> None:
        """An answer has every field. What is also sent keeps the fields that may be left out."""
        given = {each.__name__ for each in _structs_of(sent)}
        for each in _structs_of(answered):
            schema = self.components.get(each.__name__, {})
            omits = each.__struct_config__.omit_defaults
            if each.__name__ not in given and not omits and "properties" in schema:
                schema["required"] = list(schema["properties"])


def _special(kind: type) -> Schema:
    if kind is EventValue:
        return {"$ref": _REF + _EVENT}
    raise NotImplementedError(kind)


def _plain_name(name: str) -> str:
    """The name of a type; of two with the same name, that of an event begins with `Recorded`."""
    *modules, last = re.split(r"[._](?=[A-Z]\w*$)|\.", name)
    if not modules:
        return name
    return f"Recorded{last}" if "events" in name else last


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A schema, or several, whose references have the plain names."""
    encoded = msgspec.json.encode(value).decode()
    for name in sorted(names, key=len, reverse=True):
        if names[name] != name:
            encoded = encoded.replace(f'"{_REF}{name}"', f'"{_REF}{names[name]}"')
    return msgspec.json.decode(encoded)


def _limit_tuples(schema: Any) -> None:
    """Limits arrays of a fixed length by `maxItems`: generators cannot read `items: false`."""
    if isinstance(schema, list):
        for each in cast(list[Any], schema):
            _limit_tuples(each)
    elif isinstance(schema, dict):
        inner = cast(Schema, schema)
        if inner.get("items") is False:
            inner["items"] = {"anyOf": inner["prefixItems"]}
            inner["maxItems"] = len(inner["prefixItems"])
        for each in inner.values():
            _limit_tuples(each)


def _structs_of(types: Iterable[Any]) -> Iterator[type[Struct]]:
    """These types and all that their fields lead to, as far as they are structs."""
    waiting: list[object] = list(msgspec.inspect.multi_type_info(types))
    seen: set[type[Struct]] = set()
    while waiting:
        match waiting.pop():
            case msgspec.inspect.StructType(cls=cls, fields=fields):
                if cls not in seen:
                    seen.add(cls)
                    yield cls
                    waiting += [each.type for each in fields]
            case msgspec.inspect.Type() as info:
                waiting += [getattr(info, name) for name in info.__struct_fields__]
            case several if isinstance(several, tuple):
                waiting += cast(tuple[object, ...], several)
            case _:
                pass


def _described(text: str) -> str:
    """A docstring without its example."""
    return cleandoc(text.partition(">>>")[0]).strip()


def _operation(endpoint: Endpoint, schemas: _Schemas) -> Schema:
    problem = {"$ref": "#/components/responses/Problem"}
    words = [f"Needs the scope `{endpoint.scope}`.", endpoint.details]
    operation: Schema = {
        "summary": endpoint.summary,
        "operationId": _operation_id(endpoint),
        "tags": [_tag(endpoint)],
        "description": " ".join(filter(None, words)),
        "x-scope": endpoint.scope,
        "parameters": list(_parameters(endpoint, schemas)),
        "responses": {
            **{str(status): _response(endpoint, schemas) for status in endpoint.statuses},
            "401": {"$ref": "#/components/responses/Unauthorized"},
            "4XX": problem,
            "5XX": problem,
        },
    }
    if endpoint.method == "POST":
        binary = {"type": "string", "format": "binary"}
        schema = schemas.of(endpoint.request) if endpoint.request else binary
        operation["requestBody"] = {
            "required": True,
            "content": {endpoint.takes: {"schema": schema}},
        }
    return operation


def _response(endpoint: Endpoint, schemas: _Schemas) -> Schema:
    if endpoint.messages:
        messages = {
            name or "*": {"anyOf": [schemas.of(each) for each in kinds]}
            for name, kinds in endpoint.messages.items()
        }
        about = "Server-sent events: the data of each is JSON, by the event's name in x-messages."
        content: Schema = {"schema": {"type": "string"}, "x-messages": messages}
    elif endpoint.response is not None:
        about, content = "The answer.", {"schema": schemas.of(endpoint.response)}
    elif endpoint.answers.startswith("text/"):
        about, content = "The text.", {"schema": {"type": "string"}}
    else:
        about, content = "The content.", {"schema": {"type": "string", "format": "binary"}}
    return {"description": about, "content": {endpoint.answers: content}}


def _parameters(endpoint: Endpoint, schemas: _Schemas) -> Iterator[Schema]:
    text = {"type": "string"}
    for name in re.findall(r"\{(\w+)\}", endpoint.template):
        yield {"name": name, "in": "path", "required": True, "schema": text}
    if endpoint.query is not None:
        described = schemas.queries[endpoint.query]
        for name, schema in described["properties"].items():
            yield {
                "name": name,
                "in": "query",
                "required": name in described["required"],
                "description": schema.get("description", ""),
                "schema": schema,
            }
    if endpoint.is_once:
        about = "Requests with the same key act once and get the first answer."
        yield {"name": "Idempotency-Key", "in": "header", "description": about, "schema": text}
    if endpoint.messages:
        about = "The id of the last message received; the stream resumes after it."
        yield {"name": "Last-Event-ID", "in": "header", "description": about, "schema": text}


def _tag(endpoint: Endpoint) -> str:
    """The group of a route: what its address is about."""
    words = [each for each in endpoint.template.split("/")[2:] if not each.startswith("{")]
    return words[1] if len(words) > 1 and words[1] == "commands" else words[0]


def _operation_id(endpoint: Endpoint) -> str:
    words = re.findall(r"[a-z0-9]+", endpoint.template.lower().removeprefix("/v1"))
    return "_".join([endpoint.method.lower(), *words])
