"""The input of a tool that takes text instead of JSON. Pure."""

from sapwood.testing.scripted.jsontree import decode, is_object

__all__ = ["free_text"]


def free_text(args: str) -> str:
    """What a script means for such a tool: its `input`, or else the arguments as written.

    >>> free_text('{"input": "*** Begin Patch"}'), free_text('{"a": 1}')
    ('*** Begin Patch', '{"a": 1}')
    """
    tree = decode(args)
    given = tree.get("input") if is_object(tree) else None
    return given if isinstance(given, str) else args
