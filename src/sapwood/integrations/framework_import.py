"""Imports a framework, or says how to install it."""

from importlib import import_module
from types import ModuleType

from sapwood.core.errors import SapwoodError

__all__ = ["FrameworkMissing", "framework"]


class FrameworkMissing(SapwoodError, ImportError):
    """The framework of an integration is not installed. The text says how to install it."""


def framework(module: str, extra: str) -> ModuleType:
    """Returns a module of a framework. Raises `FrameworkMissing` if it is not installed.

    >>> framework("no_such_framework", "langgraph")
    Traceback (most recent call last):
    ...
    sapwood.integrations.framework_import.FrameworkMissing: This integration needs the package
    'no_such_framework'. Install it with: pip install 'sapwood[langgraph]'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        top = module.partition(".")[0]
        if missing.name is None or missing.name.partition(".")[0] != top:
            raise
        raise FrameworkMissing(
            f"This integration needs the package '{top}'. "
            f"Install it with: pip install 'sapwood[{extra}]'"
        ) from missing
