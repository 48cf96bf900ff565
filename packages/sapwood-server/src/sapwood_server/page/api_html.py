"""The page of the API: every route with what it takes and answers, and every schema.

It is made from the description of the API and needs nothing from another origin. Its only script
chooses the colours.
"""

import re
from collections.abc import Iterator
from typing import Any

from sapwood_server.page.html_text import attribute, line, text

_REF = "#/components/schemas/"
_HEAD = (
    '<!doctype html><html lang="en" data-theme="dark"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    '<link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/static/sapwood.css">'
    '<script src="/static/start.js"></script>'
    "<title>API · Sapwood</title></head>"
)


def api_html(document: dict[str, Any]) -> str:
    """The page of a description in OpenAPI."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shown = _operation(method.upper(), path, operation)
            groups.setdefault(operation["tags"][0], []).append(shown)
    routes = "".join(
        f'<section class="card"><header><h2>{line(name)}</h2></header>{"".join(each)}</section>'
        for name, each in groups.items()
    )
    schemas = document["components"]["schemas"]
    types = "".join(_schema(name, schemas[name]) for name in sorted(schemas))
    info = document["info"]
    return (
        f'{_HEAD}<body><main class="page settings"><h1 class="h1">Sapwood API '
        f'{line(info["version"])}</h1><p>{line(info["description"])}</p><p class="row-x">'
        '<a href="/">Conversations</a><a href="/v1/openapi.json">openapi.json</a></p>'
        f'{routes}<section class="card"><header><h2>Types</h2></header>{types}</section>'
        "</main></body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = [
        _row(f"{each['name']} ({each['in']})", each["schema"], each.get("description", ""))
        for each in operation["parameters"]
    ]
    body = operation.get("requestBody", {}).get("content", {})
    rows += [_row("body", content["schema"], kind) for kind, content in body.items()]
    for status, response in operation["responses"].items():
        for kind, content in response.get("content", {}).items():
            several = content.get("x-messages", {"": content["schema"]})
            rows += [
                _row(f"{status} {name}".strip(), schema, kind) for name, schema in several.items()
            ]
    return (
        f'<details id="{attribute(operation["operationId"])}"><summary><code>{method} {line(path)}'
        f"</code> {line(operation['summary'])}</summary><p>{_coded(operation['description'])}</p>"
        f"{_table(rows)}</details>"
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        _row(f"{field}{'' if field in required else '?'}", each, each.get("description", ""))
        for field, each in schema.get("properties", {}).items()
    ]
    if not rows:
        rows = [_row("", schema, "")]
    return (
        f'<details id="{attribute(name)}" open><summary><code>{line(name)}</code></summary>'
        f"<p>{_coded(schema['description'])}</p>{_table(rows)}</details>"
    )


def _table(rows: list[str]) -> str:
    return f'<table class="tbl set"><tbody>{"".join(rows)}</tbody></table>'


def _row(name: str, schema: dict[str, Any], about: str) -> str:
    shown = " | ".join(dict.fromkeys(_kinds(schema)))
    head = f'<th scope="row"><code>{line(name)}</code></th>' if name else "<td></td>"
    return f"<tr>{head}<td>{shown}</td><td>{_coded(about)}</td></tr>"


def _coded(value: str) -> str:
    """A description, with what stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text(value))


def _kinds(schema: dict[str, Any]) -> Iterator[str]:
    """The kinds of value that a schema allows, as HTML."""
    if reference := schema.get("$ref"):
        name = attribute(reference.removeprefix(_REF))
        yield f'<a href="#{name}">{name}</a>'
    for each in schema.get("anyOf", ()):
        yield from _kinds(each)
    for each in schema.get("enum", ()):
        yield f"<code>{line(str(each))}</code>"
    match schema.get("type"):
        case "array":
            items = [schema["items"]] if "items" in schema else schema["prefixItems"]
            inner = dict.fromkeys(kind for each in items for kind in _kinds(each))
            yield f"list of {' or '.join(inner)}"
        case "object":
            values: dict[str, Any] = schema.get("additionalProperties") or {}
            yield f"object of {' or '.join(_kinds(values))}" if values else "object"
        case str() as kind if "enum" not in schema:
            yield line(schema.get("format", kind))
        case _:
            pass
