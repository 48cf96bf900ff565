"""Imports client libraries that may be absent. Their tests are collected only if they are there."""

from importlib import import_module
from typing import Any


class _Library:
    """A module that is imported when it is first used: every worker of a run collects all tests."""

    def __init__(self, name: str, parts: tuple[str, ...]) -> None:
        self._name, self._parts = name, parts

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # the collection of tests looks for marks
            raise AttributeError(name)
        for part in self._parts:
            import_module(part)
        return getattr(import_module(self._name), name)


def library(name: str, *parts: str) -> Any:  # what may be missing has no type to name
    """Returns the module, which is imported together with these submodules."""
    return _Library(name, parts)
