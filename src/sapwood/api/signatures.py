"""The signatures of `Thinking` parts, for integrations that convert messages of a provider."""

from sapwood.models.wire.signatures import (
    REDACTED,
    ReasoningItem,
    decode_reasoning,
    encode_reasoning,
)

__all__ = ["REDACTED", "ReasoningItem", "decode_reasoning", "encode_reasoning"]
