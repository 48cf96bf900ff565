"""Writes the reference pages from the code that they describe.

    python -m tools.reference           writes docs/reference/
    python -m tools.reference --check   fails when a page is out of date

To change the text of a page, change the table, the event or the docstring that it comes from.
"""

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import click
from msgspec import Struct, structs

import sapwood
from sapwood.cli.exit_codes import MEANINGS
from sapwood.cli.root import root
from sapwood.config import config_file as config
from sapwood.config.editor import known_settings
from sapwood.conversation.service import HANDLERS
from sapwood.core.command_table import TABLE, SlashCommand
from sapwood.core.events import (
    Actor,
    AgentEvent,
    ContextEvent,
    Event,
    FilesEvent,
    MailEvent,
    Recorded,
    TurnEvent,
)

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
WIDTH = 96

_MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z])")
_OPTIONAL = re.compile(r"Optional\[(\w+)\]")
_MADE = "Written by `just reference` from {source}. Change that, not this page."


def pages() -> dict[str, str]:
    """Every page by its name."""
    return {
        "api.md": api_page(),
        "cli.md": cli_page(),
        "commands.md": commands_page(),
        "events.md": events_page(),
        "settings.md": settings_page(),
    }


def cli_page() -> str:
    """The command line: every help text, exit codes, environment variables."""
    top = root.context_class(root, info_name="sapwood", terminal_width=WIDTH)
    lines = [
        "# Command line",
        "",
        _MADE.format(source="the commands in `sapwood.cli`"),
        "",
        *_help(top),
    ]
    for name in root.list_commands(top):
        lines += ["", f"## `sapwood {name}`", "", *_help(_below(top, name))]
    lines += ["", "## Exit codes", "", "| code | meaning |", "| --- | --- |"]
    lines += [f"| {int(code)} | {meaning} |" for code, meaning in MEANINGS.items()]
    _, _, variables = (config.__doc__ or "").strip().partition("\n\n")
    return _page([*lines, "", "## Environment", "", "```text", *variables.splitlines(), "```"])


def _help(context: click.Context) -> list[str]:
    """The help of a command and its subcommands. Shared options are only at the top."""
    shown = context.get_help()
    if context.parent is not None:
        shown = shown.partition("\n\nOptions for every command:")[0]
    lines = ["```text", *shown.splitlines(), "```"]
    group = context.command
    if isinstance(group, click.Group) and group is not root:
        for name in group.list_commands(context):
            lines += ["", *_help(_below(context, name))]
    return lines


def _below(context: click.Context, name: str) -> click.Context:
    assert isinstance(context.command, click.Group)
    found = context.command.get_command(context, name)
    assert found is not None
    return found.context_class(found, parent=context, info_name=name, terminal_width=WIDTH)


def commands_page() -> str:
    """The slash commands."""
    lines = [
        "# Commands",
        "",
        _MADE.format(source="the table, `sapwood.core.command_table.TABLE`"),
        "",
        "Every face carries out every command through `sapwood.conversation`: the screen,",
        "`sapwood do`, `sapwood run` and `Agent.run_command`. *Model* says that a model may use",
        "the command too, *open* that a person may while a turn is open. *Answer* names the types",
        "in `sapwood.conversation.answers` that the command is answered with.",
        "",
        "| command | what it does | model | open | answer | method |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for command in TABLE.rows:
        cells = (
            ", ".join(f"`{name}`" for name in _typed(command)).replace("|", "\\|"),
            command.help,
            _dot(command.who == "both"),
            _dot(command.during_turn),
            ", ".join(f"`{name}`" for name in _answers(command)),
            f"`Agent.{command.name}`" if hasattr(sapwood.Agent, command.name) else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return _page(lines)


def events_page() -> str:
    """The events, with the values inside them."""
    lines = [
        "# Events",
        "",
        _MADE.format(source="the classes in `sapwood.core.events`"),
        "",
        "An event is immutable. A kind, once released, keeps its meaning; new fields get",
        "defaults.",
    ]
    families: list[tuple[str, Any]] = [
        ("Agents", AgentEvent),
        ("Turns", TurnEvent),
        ("Contexts", ContextEvent),
        ("Files", FilesEvent),
        ("Mail", MailEvent),
    ]
    for title, family in families:
        lines += ["", f"## {title}"]
        for event in get_args(family):
            lines += _struct(f"`{event.kind}`", event)
    lines += ["", "## Envelope and values"]
    values: dict[str, type[Struct]] = {"Recorded": Recorded, "Actor": Actor}
    for event in get_args(Event):
        for inner in _inside(event):
            values.setdefault(inner.__name__, inner)
    for name, value in values.items():
        lines += _struct(name, value)
    return _page(lines)


def settings_page() -> str:
    """The settings of the configuration."""
    lines = [
        "# Settings",
        "",
        _MADE.format(source="the fields of `sapwood.config.config_file.Config`"),
        "",
        "`sapwood config set NAME VALUE` writes a setting into the file, `sapwood config get NAME`",
        "prints it, and `sapwood config` lists all. You choose what stands for NAME in a setting.",
        "A setting without a default is not set, or must be given.",
        "",
        "| setting | what it does | values | default | example |",
        "| --- | --- | --- | --- | --- |",
    ]
    for setting in known_settings():
        code = (f"`{each}`" if each else "" for each in (setting.default, setting.example))
        cells = (f"`{setting.name}`", setting.help, setting.values, *code)
        lines.append(f"| {' | '.join(cells)} |")
    return _page(lines)


def api_page() -> str:
    """Every public name."""
    lines = [
        "# Python API",
        "",
        _MADE.format(source="`sapwood.__all__`"),
        "",
        "Names beginning with `Sync` have the methods of their namesakes, without `await`.",
    ]
    things = {name: getattr(sapwood, name) for name in sapwood.__all__}
    lines += ["", "## Functions"]
    for name, thing in things.items():
        if not inspect.isclass(thing):
            lines += _callable(f"sapwood.{name}", thing, "###")
    lines += ["", "## Classes"]
    for name, thing in things.items():
        if inspect.isclass(thing):
            lines += _class(name, thing)
    return _page(lines)


def _page(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def _dot(holds: bool) -> str:
    return "●" if holds else ""


def _typed(command: SlashCommand) -> tuple[str, ...]:
    return (command.line, *(f"/{alias}" for alias in command.aliases))


def _answers(command: SlashCommand) -> tuple[str, ...]:
    """The answers that the handler of a command returns, by its types."""
    handler = HANDLERS.get(command.name)
    if handler is None:
        return ()
    returned = get_type_hints(handler)["return"]
    return tuple(kind.__name__ for kind in get_args(returned) or (returned,))


def _class(name: str, thing: type[Any]) -> list[str]:
    if issubclass(thing, Struct):
        return [*_struct(f"`{name}`", thing, examples=True), *_methods(thing)]
    lines = ["", f"### `{name}`", "", *_prose(thing)]
    return lines if name.startswith("Sync") else lines + _methods(thing)


def _methods(thing: type[Any]) -> list[str]:
    lines: list[str] = []
    own = [base for base in thing.__mro__ if base.__module__.startswith("sapwood.")]
    members = {name: member for base in own for name, member in vars(base).items()}
    for name, member in members.items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            lines += ["", f"#### `{thing.__name__}.{name}`", "", *_prose(member)]
        elif isinstance(member, FunctionType):
            lines += _callable(f"{thing.__name__}.{name}", member, "####")
    return lines


def _callable(name: str, function: Callable[..., Any], level: str) -> list[str]:
    plain = inspect.unwrap(function)
    shown = _signature(name.rpartition(".")[2], plain)
    return ["", f"{level} `{name}`", "", "```python", *shown, "```", "", *_prose(function)]


def _signature(name: str, function: Callable[..., Any]) -> list[str]:
    signature = inspect.signature(function)
    returns = _type(signature.return_annotation)
    awaited = "async " if inspect.iscoroutinefunction(function) else ""
    if returns.startswith("AsyncGenerator"):
        awaited, returns = "async with ", returns.removeprefix("AsyncGenerator[").rstrip("]")
    elif returns.startswith("Generator"):
        awaited, returns = "with ", returns.removeprefix("Generator[").rstrip("]")
    given = list(_parameters(signature))
    line = f"{awaited}{name}({', '.join(given)}) -> {returns}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{awaited}{name}(", *(f"    {each}," for each in given), f") -> {returns}"]


def _parameters(signature: inspect.Signature) -> Iterator[str]:
    starred = False
    for parameter in signature.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        starred = starred or bool(stars)
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        yield f"{stars}{parameter.name}: {_type(parameter.annotation)}{default}"


def _struct(title: str, thing: type[Struct], *, examples: bool = False) -> list[str]:
    lines = ["", f"### {title}", "", *_prose(thing, examples=examples)]
    rows = list(_fields(thing))
    return [*lines, "", "| field | type | default |", "| --- | --- | --- |", *rows]


def _fields(thing: type[Struct]) -> Iterator[str]:
    for name, parameter in inspect.signature(thing).parameters.items():
        shown = _type(parameter.annotation).replace("|", "\\|")
        default = "" if parameter.default is parameter.empty else _default(parameter.default)
        yield f"| `{name}` | `{shown}` | {default} |"


def _default(value: object) -> str:
    return f"`{type(value).__name__}()`" if isinstance(value, Struct) else f"`{value!r}`"


def _inside(thing: Any) -> Iterator[type[Struct]]:
    """The values that a type is made of, outer ones first."""
    if inspect.isclass(thing) and issubclass(thing, Struct):
        for field in structs.fields(thing):
            for part in _parts(field.type):
                yield part
                yield from _inside(part)


def _parts(annotation: Any) -> Iterator[type[Struct]]:
    if inspect.isclass(annotation) and issubclass(annotation, Struct):
        yield annotation
    for inner in get_args(annotation):
        yield from _parts(inner)


def _type(annotation: Any) -> str:
    if isinstance(annotation, str):
        return annotation
    if get_origin(annotation) is Annotated:
        return _type(get_args(annotation)[0])
    plain = inspect.isclass(annotation) and not get_args(annotation)
    name = annotation.__name__ if plain else str(annotation).replace(str(Event), "Event")
    name = _OPTIONAL.sub(r"\1 | None", _MODULES.sub("", name))
    return "None" if name == "NoneType" else name


def _prose(thing: Any, *, examples: bool = True) -> list[str]:
    """A docstring with its examples fenced, or without them."""
    paragraphs = (inspect.getdoc(thing) or "").split("\n\n")
    shown: list[str] = []
    for paragraph in paragraphs:
        if not paragraph.startswith(">>>"):
            shown.append(paragraph)
        elif examples:
            shown.append(f"```pycon\n{paragraph}\n```")
    return "\n\n".join(shown).splitlines()


def main(argv: list[str]) -> int:
    """Writes the pages, or names those that are out of date."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args(argv).check
    outdated = 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        outdated += 1
        if check:
            print(f"docs/reference/{name} is out of date. Run: just reference", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote docs/reference/{name}")
    return 1 if check and outdated else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
