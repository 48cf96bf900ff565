"""The extras of the package that a program needs, and one command that installs what is missing."""

from importlib.util import find_spec
from typing import Literal

__all__ = ["Extra", "missing_extras", "not_installed"]

Extra = Literal["client", "models", "oidc", "serve", "tui"]

_MODULES: dict[Extra, str] = {
    "client": "httpx2",
    "models": "httpx2",
    "oidc": "jwt",
    "serve": "uvicorn",
    "tui": "textual",
}


def missing_extras(*extras: Extra) -> tuple[Extra, ...]:
    """Returns those extras that are not installed, in alphabetical order."""
    return tuple(extra for extra in sorted(extras) if find_spec(_MODULES[extra]) is None)


def not_installed(what: str, *missing: Extra) -> str:
    """The sentence that says what cannot be used, with one command that installs all of it.

    >>> not_installed("The screen", "models", "tui")
    "The screen needs packages that are not installed. Type: pip install 'sapwood[models,tui]'"
    """
    extras = ",".join(missing)
    return f"{what} needs packages that are not installed. Type: pip install 'sapwood[{extras}]'"
