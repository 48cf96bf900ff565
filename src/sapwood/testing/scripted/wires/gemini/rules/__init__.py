"""The rules of the Gemini API, one file for each kind. Pure."""

from collections.abc import Callable, Iterator

from msgspec import structs

from sapwood.testing.scripted.wires.gemini.naming import camelled
from sapwood.testing.scripted.wires.gemini.rules.parts import part_violations
from sapwood.testing.scripted.wires.gemini.rules.signatures import signature_violations
from sapwood.testing.scripted.wires.gemini.rules.tools import tool_violations
from sapwood.testing.scripted.wires.gemini.rules.top import top_violations
from sapwood.testing.scripted.wires.gemini.rules.turns import turn_violations
from sapwood.testing.scripted.wires.wire import Post, Violation

__all__ = ["first_violation"]

_RULES: tuple[Callable[[Post], Iterator[Violation]], ...] = (
    top_violations,
    part_violations,
    tool_violations,
    turn_violations,
    signature_violations,
)


def first_violation(post: Post) -> Violation | None:
    """The rule that the API would complain about. Later rules rely on the earlier ones."""
    plain = structs.replace(post, body=camelled(post.body))
    return next((found for rule in _RULES for found in rule(plain)), None)
