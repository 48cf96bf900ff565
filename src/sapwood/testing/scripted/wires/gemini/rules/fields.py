"""Unknown and missing fields, in Google's words."""

from collections.abc import Iterator

from sapwood.testing.scripted.jsontree import JsonObject
from sapwood.testing.scripted.wires.gemini.naming import snake
from sapwood.testing.scripted.wires.shape import Shape
from sapwood.testing.scripted.wires.wire import Violation

__all__ = ["field_violations"]


def field_violations(tree: JsonObject, form: Shape, path: str) -> Iterator[Violation]:
    """Fields of an object at a path, `''` being the whole."""
    if (unknown := form.unknown(tree)) is not None:
        where = f" at '{snake(path)}'" if path else ""
        yield Violation(
            f'Invalid JSON payload received. Unknown name "{unknown}"{where}: Cannot find field.',
            snake(path),
        )
    if (missing := form.missing(tree)) is not None:
        name = snake(f"{path}.{missing}").removeprefix(".")
        yield Violation(f"* GenerateContentRequest.{name}: {snake(missing)} is not specified")
