"""The signatures of `Thinking` parts, for integrations that convert messages of a provider."""

from sapwood.models.wire.signatures import ReasoningItem, decode_reasoning, encode_reasoning

__all__ = ["ReasoningItem", "decode_reasoning", "encode_reasoning"]
