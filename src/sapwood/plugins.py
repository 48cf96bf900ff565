"""Plug-ins: entry points of other distributions, loaded by name when they are needed.

What Sapwood itself has is looked up first, so most commands never look for plug-ins. The files are
read here and not by `importlib.metadata`, whose import takes half of what `sapwood --help` may.
"""

import os
import sys
from functools import cache
from importlib import import_module
from typing import Literal, NamedTuple

Group = Literal["commands", "engines", "models", "pages", "programs", "stores", "tools"]
"""The kinds of plug-ins. The group of an entry point is `sapwood.` and one of these."""

_EXTRAS: dict[tuple[str, str], tuple[str, str]] = {
    ("commands", "acp"): ("'sapwood acp'", "acp"),
    ("commands", "login"): ("'sapwood login'", "client"),
    ("commands", "route"): ("'sapwood route'", "serve"),
    ("commands", "serve"): ("'sapwood serve'", "serve"),
    ("commands", "token"): ("'sapwood token'", "serve"),
    ("engines", "temporal"): ("The engine 'temporal'", "temporal"),
    ("pages", "html"): ("The export as HTML", "serve"),
    ("stores", "http"): ("The client of servers", "client"),
    ("stores", "https"): ("The client of servers", "client"),
}
"""The plug-ins of this repository: what each is in a sentence, and the extra that installs it."""


class _EntryPoint(NamedTuple):
    group: str
    name: str
    target: str
    """`module:object`."""
    distribution: str
    """Name and version."""


def plugin_names(group: Group) -> list[str]:
    """Returns the names of the installed plug-ins of one kind. Loads none."""
    return sorted(name for each, name in _installed(tuple(sys.path)) if each == group)


def load_plugin(group: Group, name: str) -> object | None:
    """Returns what the plug-in with this name provides; None if there is none.

    Raises `PluginError` if it cannot be loaded, or if it belongs to an extra that is not installed.
    """
    found = _installed(tuple(sys.path)).get((group, name))
    if found is not None:
        return _loaded(found)
    if (group, name) not in _EXTRAS:
        return None
    from sapwood.core.errors import PluginError

    what, extra = _EXTRAS[group, name]
    raise PluginError(f"{what} is not installed. Type: pip install 'sapwood[{extra}]'")


def examine_plugins() -> dict[str, list[str]]:
    """Loads the plug-ins of others. Returns all distributions, each with what is wrong with it.

    Ours take long to import. They work if they have the version of Sapwood.
    """
    problems: dict[str, list[str]] = {}
    for key, each in _installed(tuple(sys.path)).items():
        problem = _other_version(each, _EXTRAS[key][1]) if key in _EXTRAS else _failure(each)
        found = problems.setdefault(each.distribution, [])
        if problem and problem not in found:
            found.append(problem)
    return problems


def _other_version(found: _EntryPoint, extra: str) -> str:
    from sapwood import __version__

    if found.distribution.rpartition(" ")[2] == __version__:
        return ""
    return (
        f"{found.distribution} does not work with sapwood {__version__}. "
        f"Type: pip install 'sapwood[{extra}]=={__version__}'"
    )


def _failure(found: _EntryPoint) -> str:
    from sapwood.core.errors import PluginError

    try:
        _loaded(found)
    except PluginError as error:
        return str(error)
    return ""


@cache
def _installed(folders: tuple[str, ...]) -> dict[tuple[str, str], _EntryPoint]:
    """The entry points for Sapwood, by group and name. Of two, the first on the path counts."""
    found: dict[tuple[str, str], _EntryPoint] = {}
    for folder in folders:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            continue  # an archive, or a folder that does not exist
        for name in names:
            if name.endswith(".dist-info"):
                for each in _entry_points(os.path.join(folder, name)):
                    found.setdefault((each.group, each.name), each)
    return found


def _entry_points(folder: str) -> list[_EntryPoint]:
    try:
        with open(os.path.join(folder, "entry_points.txt"), encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return []
    if "[sapwood." not in text:
        return []
    name, _, version = os.path.basename(folder).removesuffix(".dist-info").partition("-")
    distribution = f"{name.replace('_', '-')} {version}"
    group, found = "", list[_EntryPoint]()
    for line in text.splitlines():
        if line.startswith("["):
            group = line.strip(" []").partition("sapwood.")[2]
        elif group and "=" in line and not line.startswith(("#", ";")):
            left, _, right = line.partition("=")
            found.append(_EntryPoint(group, left.strip(), right.strip(), distribution))
    return found


def _loaded(found: _EntryPoint) -> object:
    module, _, names = found.target.partition(":")
    try:
        loaded: object = import_module(module.strip())
        for name in filter(None, names.partition("[")[0].strip().split(".")):
            loaded = getattr(loaded, name)
        return loaded
    except Exception as error:  # whatever the code of others raises
        from sapwood.core.errors import PluginError

        raise PluginError(
            f"The plug-in '{found.name}' of {found.distribution} cannot be loaded: "
            f"{str(error) or type(error).__name__}"
        ) from error
