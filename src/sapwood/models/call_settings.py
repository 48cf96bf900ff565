"""The settings of a call: the user's parameters, checked, and those that Sapwood always sets."""

from collections.abc import Mapping

from sapwood.core.model_calls import Failure
from sapwood.core.refusals.refusal import did_you_mean, nearest
from sapwood.models.model_routes import Wire

_GENERAL = frozenset(
    """max_tokens temperature top_p top_k seed stop_sequences thinking parallel_tool_calls
    tool_choice presence_penalty frequency_penalty logit_bias service_tier""".split()
)
_PREFIXES: Mapping[Wire, str] = {
    "messages": "anthropic_",
    "responses": "openai_",
    "chat": "openai_",
    "gemini": "google_",
}
_ALWAYS: Mapping[Wire, Mapping[str, object]] = {
    # The cache mark on the system prompt also covers the tools before it. The provider itself puts
    # the other mark on the last message, so that it moves without changing bytes of the history.
    "messages": {"anthropic_cache_instructions": True, "anthropic_cache": True},
    # The provider stores nothing of a conversation; reasoning comes back encrypted instead.
    "responses": {"openai_store": False},
    "chat": {},
    "gemini": {},
}
_DROP_CHANGED_THINKING = {
    "type": "adaptive",
    "block_binding": {"prefix_mismatch_behavior": "drop_block"},
}


def settings_for(
    wire: Wire,
    params: Mapping[str, object],
    *,
    ignored: frozenset[str] = frozenset(),
    binds_thinking: bool = False,
) -> dict[str, object]:
    """The settings to send besides messages and tools. Raises `Failure` for an unknown parameter.

    Parameters of other providers are left out, so that the model can be switched in the middle of
    a conversation. So are those in `ignored`, which the model does not support. `binds_thinking`
    means that the model refuses its earlier thinking when anything before it changed, for example
    because `head` moved; then the provider is asked to drop that thinking.

    >>> settings_for("responses", {"temperature": 0.2, "anthropic_cache": "1h"})
    {'openai_store': False, 'temperature': 0.2}
    """
    known = {name: value for name, value in params.items() if _is_known(name)}
    settings = dict(_ALWAYS[wire])
    if binds_thinking and known.get("thinking") is not False:
        settings["anthropic_thinking"] = _DROP_CHANGED_THINKING
    settings |= {
        name: value
        for name, value in known.items()
        if name not in ignored and (name in _GENERAL or name.startswith(_PREFIXES[wire]))
    }
    return settings


def _is_known(name: str) -> bool:
    if name in _GENERAL or name.startswith(tuple(_PREFIXES.values())):
        return True
    raise Failure(
        "refused",
        f"There is no parameter '{name}'.{did_you_mean(nearest(name, sorted(_GENERAL)))} "
        "Nothing was sent.",
    )
