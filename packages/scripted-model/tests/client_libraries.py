"""Imports client libraries that may be absent. Their tests are collected only if they are there."""

from importlib import import_module
from typing import Any


def library(name: str, *parts: str) -> Any:  # what may be missing has no type to name
    """Returns the module, after importing these submodules."""
    for part in parts:
        import_module(part)
    return import_module(name)
