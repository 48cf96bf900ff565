"""Parameters of a call, checked and completed with what Sapwood always asks of a provider."""

from collections.abc import Mapping

from sapwood.core.calling import Failure
from sapwood.models.names import Wire, nearest

__all__ = ["settings_for"]

_GENERAL = frozenset(
    """max_tokens temperature top_p top_k seed stop_sequences thinking parallel_tool_calls
    tool_choice presence_penalty frequency_penalty logit_bias service_tier""".split()
)
_OWN: Mapping[Wire, str] = {
    "messages": "anthropic_",
    "responses": "openai_",
    "chat": "openai_",
    "gemini": "google_",
}
_ALWAYS: Mapping[Wire, Mapping[str, object]] = {
    # The mark on the system prompt serves the tools before it too; the other one is placed by the
    # provider on the last message, so that it moves without changing a byte of the history.
    "messages": {"anthropic_cache_instructions": True, "anthropic_cache": True},
    # Nothing of a conversation is left with the provider: reasoning comes back encrypted instead.
    "responses": {"openai_store": False},
    "chat": {},
    "gemini": {},
}
_FORGIVING = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}


def settings_for(
    wire: Wire,
    params: Mapping[str, object],
    *,
    ignored: frozenset[str] = frozenset(),
    binds_thinking: bool = False,
) -> dict[str, object]:
    """What to ask for besides messages and tools.

    Parameters of another provider are left out, so that a model can be switched in
    mid-conversation, and so are those in `ignored`, which the model would not heed.
    `binds_thinking` says that the model refuses its own thinking once anything before it changed,
    as it does when `head` moves; it is asked to drop that thinking instead.

    >>> settings_for("responses", {"temperature": 0.2, "anthropic_cache": "1h"})
    {'openai_store': False, 'temperature': 0.2}
    """
    known = {name: value for name, value in params.items() if _is_known(name)}
    settings = dict(_ALWAYS[wire])
    if binds_thinking and known.get("thinking") is not False:
        settings["anthropic_thinking"] = _FORGIVING
    settings |= {
        name: value
        for name, value in known.items()
        if name not in ignored and (name in _GENERAL or name.startswith(_OWN[wire]))
    }
    return settings


def _is_known(name: str) -> bool:
    if name in _GENERAL or name.startswith(tuple(_OWN.values())):
        return True
    raise Failure(
        "refused", f"There is no parameter '{name}'.{nearest(name, _GENERAL)} Nothing was sent."
    )
