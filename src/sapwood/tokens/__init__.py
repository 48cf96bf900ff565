"""Token counters: characters, features and exact vocabularies, and which of them serves a model.

Importing this loads no vocabulary: the first exact count does. Names are imported when they are
first used: a hook pays for every import, at every call.
"""

TYPE_CHECKING = False  # that of `typing`, whose import would cost more than all of this
if TYPE_CHECKING:
    from sapwood.tokens.chars4 import Chars4Counter
    from sapwood.tokens.exact import ExactCounter, ExtraMissing
    from sapwood.tokens.features import FeatureCounter
    from sapwood.tokens.models import counter_for
    from sapwood.tokens.remembering import RememberingCounter

__all__ = [
    "Chars4Counter",
    "ExactCounter",
    "ExtraMissing",
    "FeatureCounter",
    "RememberingCounter",
    "counter_for",
]

_HOMES = {
    "sapwood.tokens.chars4": "Chars4Counter",
    "sapwood.tokens.exact": "ExactCounter ExtraMissing",
    "sapwood.tokens.features": "FeatureCounter",
    "sapwood.tokens.models": "counter_for",
    "sapwood.tokens.remembering": "RememberingCounter",
}

if not TYPE_CHECKING:  # so that a type checker still reports a name that does not exist

    def __getattr__(name: str) -> object:
        for home, names in _HOMES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(home), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
