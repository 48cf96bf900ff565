"""Which fields an object may and must have. The tables beside each wire are written with it."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from sapwood.testing.scripted.jsontree import JsonObject

__all__ = ["Shape", "shape", "shapes"]


class Shape(Struct, frozen=True):
    """The fields of an object."""

    allowed: frozenset[str]
    required: tuple[str, ...]

    def unknown(self, tree: JsonObject) -> str | None:
        """The first field that has no business there."""
        if tree.keys() <= self.allowed:
            return None
        return next(name for name in tree if name not in self.allowed)

    def missing(self, tree: JsonObject) -> str | None:
        """The first field that should be there."""
        for name in self.required:
            if name not in tree:
                return name
        return None

    def with_fields(self, *names: str) -> "Shape":
        """The same with further fields that may be there."""
        return Shape(self.allowed | frozenset(names), self.required)


def shape(words: str) -> Shape:
    """A shape from its field names; a `!` marks those that must be there.

    >>> shape("type! text! cache_control").missing({"type": "text"})
    'text'
    """
    names = words.split()
    required = tuple(name.removesuffix("!") for name in names if name.endswith("!"))
    return Shape(frozenset(name.removesuffix("!") for name in names), required)


def shapes(table: Mapping[str, str]) -> dict[str, Shape]:
    """A shape for each name; several names may share a row, parted by spaces."""
    return {name: shape(words) for names, words in table.items() for name in _names(names)}


def _names(names: str) -> Iterator[str]:
    yield from names.split()
