"""The list of models in each provider's form. Pure."""

from collections.abc import Sequence

from sapwood.testing.scripted.jsontree import Json, JsonObject

__all__ = ["DEFAULT_MODELS", "listed", "model_entry"]

DEFAULT_MODELS = ("claude-opus-5-5", "gpt-5", "gemini-3-pro", "scripted")
_CREATED = 1_735_689_600
_CREATED_AT = "2025-01-01T00:00:00Z"


def listed(wire: str, models: Sequence[str]) -> JsonObject:
    """All models."""
    entries: list[Json] = [model_entry(wire, model) for model in models]
    match wire:
        case "anthropic":
            ends: JsonObject = {"first_id": models[0], "last_id": models[-1]} if models else {}
            return {"data": entries, "has_more": False, **ends}
        case "gemini":
            return {"models": entries}
        case _:
            return {"object": "list", "data": entries}


def model_entry(wire: str, model: str) -> JsonObject:
    """One model."""
    match wire:
        case "anthropic":
            return {
                "type": "model",
                "id": model,
                "display_name": model,
                "created_at": _CREATED_AT,
            }
        case "gemini":
            return {
                "name": f"models/{model}",
                "displayName": model,
                "version": "001",
                "inputTokenLimit": 1_048_576,
                "outputTokenLimit": 65_536,
                "supportedGenerationMethods": ["generateContent", "countTokens"],
            }
        case _:
            return {"id": model, "object": "model", "created": _CREATED, "owned_by": "scripted"}
