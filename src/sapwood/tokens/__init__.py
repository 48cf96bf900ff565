"""Token counters: estimates and exact vocabularies, and the choice of a counter for a model.

Importing this package loads no vocabulary; the first exact count does. Each name is imported at
its first use, because a hook is a new process that pays for every import at every call.
"""

TYPE_CHECKING = False  # as in `typing`, whose import would cost more than this package
if TYPE_CHECKING:
    from sapwood.tokens.counters import CachingCounter, ExactCounter, ExtraMissing, counter_for
    from sapwood.tokens.estimators import Chars4Counter, FeatureCounter

__all__ = [
    "CachingCounter",
    "Chars4Counter",
    "ExactCounter",
    "ExtraMissing",
    "FeatureCounter",
    "counter_for",
]

_MODULES = {
    "sapwood.tokens.counters": "ExactCounter ExtraMissing CachingCounter counter_for",
    "sapwood.tokens.estimators": "Chars4Counter FeatureCounter",
}

if not TYPE_CHECKING:  # hidden from type checkers, so that they still report unknown names

    def __getattr__(name: str) -> object:
        for module, names in _MODULES.items():
            if name in names.split():
                from importlib import import_module

                return getattr(import_module(module), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
