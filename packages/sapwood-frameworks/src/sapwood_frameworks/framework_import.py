"""The error of an integration whose framework is not installed."""

from sapwood.core.errors import SapwoodError


class FrameworkMissing(SapwoodError, ImportError):
    """The framework of an integration is not installed. The text says how to install it."""


def framework_missing(extra: str, error: ModuleNotFoundError) -> Exception:
    """Returns what an integration raises if it cannot import its framework.

    >>> print(framework_missing("langgraph", ModuleNotFoundError("No module named 'langchain'")))
    No module named 'langchain'. Install it with: pip install 'sapwood[langgraph]'
    """
    return FrameworkMissing(f"{error}. Install it with: pip install 'sapwood[{extra}]'")
