"""Tending: what a conversation is about, how far it drifted, and what a model needs to go on.

Names are imported when they are first used: a hook pays for every import, at every call.
"""

TYPE_CHECKING = False  # that of `typing`, whose import would cost more than all of this
if TYPE_CHECKING:
    from sapwood.garden.archive import Archive
    from sapwood.garden.drift import Drift, Status, TopicShare, TurnPlace
    from sapwood.garden.drifting import drift_of
    from sapwood.garden.resuming import resumption_prompt

__all__ = [
    "Archive",
    "Drift",
    "Status",
    "TopicShare",
    "TurnPlace",
    "drift_of",
    "resumption_prompt",
]

_HOMES = {
    "sapwood.garden.archive": "Archive",
    "sapwood.garden.drift": "Drift Status TopicShare TurnPlace",
    "sapwood.garden.drifting": "drift_of",
    "sapwood.garden.resuming": "resumption_prompt",
}

if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        for home, names in _HOMES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
