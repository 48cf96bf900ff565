"""What differs between Gemini's models. Pure."""

import re

__all__ = ["signs_calls"]

_VERSION = re.compile(r"gemini-(\d+)")


def signs_calls(model: str) -> bool:
    """Does the model sign its function calls, and want the signatures back?

    >>> signs_calls("gemini-2.5-flash"), signs_calls("gemini-3.1-pro-preview")
    (False, True)
    """
    found = _VERSION.search(model)
    return found is not None and int(found[1]) >= 3
