"""Both spellings of a field's name: clients may send either, errors have underscores. Pure."""

import re
from functools import cache

from sapwood.testing.scripted.jsontree import Json, JsonObject, is_object

__all__ = ["camel", "camelled", "snake"]

_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")
# What is under these is the client's own.
_FREE = frozenset(
    "args labels parameters parametersJsonSchema response responseJsonSchema responseSchema".split()
)


@cache
def camel(name: str) -> str:
    """The name in camel case.

    >>> camel("function_call")
    'functionCall'
    """
    head, *tail = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in tail)


@cache
def snake(path: str) -> str:
    """The name, or path of names, with underscores.

    >>> snake("contents[0].functionCall")
    'contents[0].function_call'
    """
    return _HUMP.sub(r"_\1", path).lower()


def camelled(body: JsonObject) -> JsonObject:
    """The body with every field of the API in camel case.

    >>> camelled({"function_call": {"args": {"my_arg": 1}}})
    {'functionCall': {'args': {'my_arg': 1}}}
    """
    return {(key := camel(name)): _value(key, value) for name, value in body.items()}


def _value(name: str, value: Json) -> Json:
    if name in _FREE:
        return value
    if is_object(value):
        return camelled(value)
    if isinstance(value, list):
        return [camelled(item) if is_object(item) else item for item in value]
    return value
