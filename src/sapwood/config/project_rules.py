"""The permission rules that a person gave for a project: a private file beside config.toml.

The file is never in the workspace, so a repository cannot grant itself anything. The rules are
kept as lines of text; `sapwood.workspace.permissions` knows what they mean.
"""

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from sapwood.config.config_file import ConfigError, config_file
from sapwood.private_files import locked, replace_file

_HEAD = "# Permission rules for a project. Type /permissions to see and change them.\n"


def project_rules_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The path of the file, which may not exist."""
    return config_file(environ).with_name("permissions.toml")


def project_rules(folder: str, file: Path | None = None) -> tuple[str, ...]:
    """The rules of the project in this folder. Raises `ConfigError` if the file cannot be read."""
    return _read(file or project_rules_file()).get(_project(folder), ())


def add_project_rules(folder: str, rules: Iterable[str], file: Path | None = None) -> None:
    """Adds rules to the project. Raises `ConfigError` or `OSError` if they cannot be kept."""
    file = file or project_rules_file()
    with locked(file):
        projects = _read(file)
        known = projects.get(_project(folder), ())
        projects[_project(folder)] = tuple(dict.fromkeys((*known, *rules)))
        replace_file(file, _text(projects))


def remove_project_rule(folder: str, rule: str, file: Path | None = None) -> bool:
    """Removes a rule of the project; returns whether there was one."""
    file = file or project_rules_file()
    with locked(file):
        projects = _read(file)
        known = projects.get(_project(folder), ())
        if rule not in known:
            return False
        projects[_project(folder)] = tuple(each for each in known if each != rule)
        replace_file(file, _text(projects))
    return True


def _project(folder: str) -> str:
    return os.path.realpath(os.path.expanduser(folder))


def _read(file: Path) -> dict[str, tuple[str, ...]]:
    import tomllib

    from sapwood.config.toml_parser import parse_toml

    try:
        text = file.read_text(encoding="utf-8")
        tables = msgspec.convert(parse_toml(text), dict[str, dict[str, tuple[str, ...]]])
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.MsgspecError) as error:
        raise ConfigError(f"{file} cannot be read: {error}. Correct it or delete it.") from error
    return {folder: table.get("rules", ()) for folder, table in tables.items()}


def _text(projects: Mapping[str, tuple[str, ...]]) -> str:
    parts = [_HEAD]
    for folder, rules in projects.items():
        if rules:
            lines = "".join(f"    {_quoted(rule)},\n" for rule in rules)
            parts.append(f"[{_quoted(folder)}]\nrules = [\n{lines}]\n")
    return "\n".join(parts)


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escaped = text.encode("utf-8", "replace").decode()
    return json.dumps(escaped, ensure_ascii=False).replace("\x7f", "\\u007f")
