"""The rules of the Responses API, one file for each kind. Pure."""

from collections.abc import Callable, Iterator

from sapwood.testing.scripted.wires.responses.rules.items import item_violations
from sapwood.testing.scripted.wires.responses.rules.pairs import pair_violations
from sapwood.testing.scripted.wires.responses.rules.reasoning import reasoning_violations
from sapwood.testing.scripted.wires.responses.rules.tools import tool_violations
from sapwood.testing.scripted.wires.responses.rules.top import top_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["first_violation"]

_RULES: tuple[Callable[[Post], Iterator[Violation]], ...] = (
    top_violations,
    tool_violations,
    item_violations,
    reasoning_violations,
    pair_violations,
)


def first_violation(post: Post) -> Violation | None:
    """The rule that the API would complain about. Later rules rely on the earlier ones."""
    return next((found for rule in _RULES for found in rule(post)), None)
