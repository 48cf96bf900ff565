"""The rules of Anthropic's Messages API, one file for each kind, in the order of the API. Pure."""

from collections.abc import Callable, Iterator

from sapwood.testing.scripted.wires.anthropic.rules.blocks import block_violations
from sapwood.testing.scripted.wires.anthropic.rules.marks import mark_violations
from sapwood.testing.scripted.wires.anthropic.rules.pairs import pair_violations
from sapwood.testing.scripted.wires.anthropic.rules.thinking import thinking_violations
from sapwood.testing.scripted.wires.anthropic.rules.tools import tool_violations
from sapwood.testing.scripted.wires.anthropic.rules.top import top_violations
from sapwood.testing.scripted.wires.anthropic.rules.turns import turn_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["first_violation"]

_RULES: tuple[Callable[[Post], Iterator[Violation]], ...] = (
    top_violations,
    tool_violations,
    block_violations,
    turn_violations,
    pair_violations,
    thinking_violations,
    mark_violations,
)


def first_violation(post: Post) -> Violation | None:
    """The rule that the API would complain about. Later rules rely on the earlier ones."""
    return next((found for rule in _RULES for found in rule(post)), None)
