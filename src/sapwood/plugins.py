"""Plug-ins: entry points of other distributions, loaded by name when they are needed.

Finding them reads a file of every installed distribution. So nothing looks for them at start-up,
and what Sapwood itself has is looked up first.
"""

import sys
from functools import cache
from importlib import metadata
from typing import Literal, get_args

from sapwood.core.errors import SapwoodError

Group = Literal["commands", "engines", "pages", "stores"]
"""The kinds of plug-ins. The group of an entry point is `sapwood.` and one of these."""

_EXTRAS: dict[tuple[Group, str], tuple[str, str]] = {
    ("commands", "acp"): ("'sapwood acp'", "acp"),
    ("commands", "login"): ("'sapwood login'", "client"),
    ("commands", "serve"): ("'sapwood serve'", "serve"),
    ("commands", "token"): ("'sapwood token'", "serve"),
    ("engines", "temporal"): ("The engine 'temporal'", "temporal"),
    ("pages", "html"): ("The export as HTML", "serve"),
    ("stores", "http"): ("The client of servers", "client"),
    ("stores", "https"): ("The client of servers", "client"),
}
"""The plug-ins of this repository: what each is in a sentence, and the extra that installs it."""


class PluginError(SapwoodError):
    """A plug-in is not installed or cannot be loaded."""


def plugin_names(group: Group) -> list[str]:
    """Returns the names of the installed plug-ins of one kind. Loads none."""
    return sorted(_installed()[group])


def load_plugin(group: Group, name: str) -> object | None:
    """Returns what the plug-in with this name provides; None if there is none.

    Raises `PluginError` if it cannot be loaded, or if it belongs to an extra that is not installed.
    """
    found = _installed()[group].get(name)
    if found is not None:
        return _loaded(found)
    if (group, name) not in _EXTRAS:
        return None
    what, extra = _EXTRAS[group, name]
    raise PluginError(f"{what} is not installed. Type: pip install 'sapwood[{extra}]'")


def examine_plugins() -> dict[str, list[str]]:
    """Loads every plug-in. Returns the distributions, each with what of it cannot be loaded."""
    problems: dict[str, list[str]] = {}
    for each in (point for group in _installed().values() for point in group.values()):
        found = problems.setdefault(_distribution(each), [])
        try:
            _loaded(each)
        except PluginError as error:
            found.append(str(error))
    return problems


def _installed() -> dict[Group, dict[str, metadata.EntryPoint]]:
    return _installed_in(tuple(sys.path))


@cache
def _installed_in(folders: tuple[str, ...]) -> dict[Group, dict[str, metadata.EntryPoint]]:
    groups: tuple[Group, ...] = get_args(Group)
    every = metadata.entry_points()
    return {
        group: {each.name: each for each in every.select(group=f"sapwood.{group}")}
        for group in groups
    }


def _loaded(found: metadata.EntryPoint) -> object:
    try:
        return found.load()
    except Exception as error:  # whatever the code of others raises
        raise PluginError(
            f"The plug-in '{found.name}' of {_distribution(found)} cannot be loaded: "
            f"{str(error) or type(error).__name__}"
        ) from error


def _distribution(found: metadata.EntryPoint) -> str:
    return f"{found.dist.name} {found.dist.version}" if found.dist else found.value
