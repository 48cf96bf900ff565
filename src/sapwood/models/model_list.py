"""Asks a provider which models it has. That costs nothing, so it also tests an API key.

Imported at the first use, as it imports the HTTP client.
"""

from collections.abc import Iterator, Mapping

import httpx2
import msgspec
from msgspec import Struct

from sapwood.core.model_calls import Failure
from sapwood.models.calls import failure_of
from sapwood.models.model_routes import ModelRoute, Wire
from sapwood.models.wire.provider_error import error_of_response

_PATHS: Mapping[Wire, str] = {
    "messages": "/v1/models",
    "responses": "/models",
    "chat": "/models",
    "gemini": "/v1beta/models",
}
_MAX_BYTES = 5_000_000


async def list_models(route: ModelRoute, key: str, seconds: float = 10.0) -> list[str]:
    """The names of the models that the provider of a route has. Raises `Failure`."""
    headers = {"authorization": f"Bearer {key or 'none'}", "user-agent": "sapwood"}
    match route.wire:
        case "messages":
            headers = {**headers, "anthropic-version": "2023-06-01", "x-api-key": key}
        case "gemini":
            headers = {"x-goog-api-key": key, "user-agent": "sapwood"}
        case _:
            pass
    try:
        async with httpx2.AsyncClient(timeout=seconds) as client:
            answer = await client.get(route.url.rstrip("/") + _PATHS[route.wire], headers=headers)
        if answer.status_code != 200:
            raise error_of_response(answer.status_code, answer.headers, answer.content)
        return [*_names(msgspec.json.decode(answer.content[:_MAX_BYTES], type=_List))]
    except msgspec.MsgspecError:
        raise Failure("other", f"{route.title} sent no list of models.") from None
    except Exception as error:
        raise failure_of(error, route, (key,)) from error


class _Entry(Struct):
    id: str = ""
    name: str = ""


class _List(Struct):
    data: list[_Entry] = []
    models: list[_Entry] = []


def _names(found: _List) -> Iterator[str]:
    for each in (*found.data, *found.models):
        name = (each.id or each.name).removeprefix("models/")
        if name and name.isprintable():
            yield name
