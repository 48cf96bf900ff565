"""Conversion between requests and messages of pydantic-ai, for the integration with it.

It follows the rules of Sapwood's own model calls, with the route of a model that pydantic-ai calls.
Needs the extra `pydantic-ai`.
"""

from pydantic_ai.messages import InstructionPart, ModelMessage, ModelResponse
from pydantic_ai.models import Model

from sapwood.api.pydantic_request import instructions, model_messages
from sapwood.api.pydantic_response import reply_of
from sapwood.config.providers import Wire
from sapwood.core.content import RecordedReply
from sapwood.core.view import Request
from sapwood.models.model_routes import ModelRoute

_WIRES: tuple[tuple[str, Wire, str], ...] = (
    ("Responses", "responses", "openai"),
    ("Anthropic", "messages", "anthropic"),
    ("Google", "gemini", "google"),
)
"""What the name of a class of models contains, its wire format, and its provider in Sapwood."""


def route_of(model: Model) -> ModelRoute:
    """The route of a model. A class that is not known speaks the chat format."""
    names = " ".join(each.__name__ for each in type(model).__mro__)
    for part, wire, provider in _WIRES:
        if part in names:
            return _route(model, wire, provider)
    return _route(model, "chat", "openai-chat" if model.system == "openai" else model.system)


def _route(model: Model, wire: Wire, provider: str) -> ModelRoute:
    return ModelRoute(
        provider, model.model_name, wire, "", provider, model.system, "", catalogue=""
    )


def history_of(request: Request, model: Model) -> list[ModelMessage]:
    """The messages of a request, as pydantic-ai sends them to a model."""
    return model_messages(request.messages, route_of(model))


def instructions_of(request: Request) -> list[InstructionPart]:
    """The system texts and pins of a request."""
    return instructions(request.system)


def recorded_reply(response: ModelResponse, model: Model) -> RecordedReply:
    """The reply of a model, with its thinking, usage and the model that gave it."""
    return reply_of(response, route_of(model))
