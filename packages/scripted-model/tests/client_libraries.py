"""Importing libraries that need not be there: whoever uses one is collected only if it is."""

from importlib import import_module
from typing import Any

__all__ = ["library"]


def library(name: str, *parts: str) -> Any:  # what may be missing has no type to name
    """The module, with these parts of it imported."""
    for part in parts:
        import_module(part)
    return import_module(name)
