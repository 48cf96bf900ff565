"""The base classes of all sub-commands: help pages, shared options, types of numbers."""

import re
import textwrap
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from sapwood.cli.console import columns
from sapwood.cli.invocation import Invocation
from sapwood.cli.tool_call_origin import refuse_in_tool_call

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

_SHARED = frozenset({"database", "server", "space", "verbose", "debug"})
_WORDS = re.compile(r"""(?:"[^"]*"|'[^']*'|\S)+""")
_NARROW = 60
_WIDEST = 88
_UNITS = {"d": 86_400, "h": 3_600, "m": 60}


class HelpText(click.HelpFormatter):
    """A help page, as wide as the terminal and readable from forty columns on."""

    def __init__(
        self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None
    ) -> None:
        if width is None:
            width = min(columns(), max_width or _WIDEST) - 1
        super().__init__(indent_increment, width, max_width)

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 28, col_spacing: int = 2
    ) -> None:
        """Writes terms beside their meanings, or above them in a narrow terminal."""
        if self.width >= _NARROW:
            super().write_dl(rows, col_max, col_spacing)
            return
        indent = " " * self.current_indent
        for term, meaning in rows:
            self.write(f"{indent}{term}\n")
            inner = indent + "    "
            lines = textwrap.wrap(
                meaning, self.width, initial_indent=inner, subsequent_indent=inner
            )
            self.write("".join(f"{line}\n" for line in lines))

    def write_examples(self, examples: Iterable[str]) -> None:
        """Writes lines to type. A long one is continued with a backslash, as in a shell."""
        indent = " " * self.current_indent
        for example in examples:
            lines = [""]
            for word in _WORDS.findall(example):
                if lines[-1] and len(f"{indent}{lines[-1]} {word}") > self.width - 2:
                    lines.append("   ")
                lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
            self.write(" \\\n".join(indent + line for line in lines) + "\n")


class CommandContext(click.Context):
    """A click context whose help is a `HelpText`."""

    formatter_class = HelpText


def _set_on_invocation(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def set_value(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.ensure_object(Invocation), name, value)

    return set_value


_SHARED_OPTIONS: tuple[tuple[str, dict[str, Any], str], ...] = (
    (
        "-d --database",
        {"metavar": "ADDRESS"},
        "Database to use instead of the configured one: a path or postgresql://…",
    ),
    ("--server", {"metavar": "URL"}, "Use the conversations on a server: https://…"),
    ("--space", {"metavar": "NAME"}, "Space to use instead of the configured one."),
    ("-v --verbose", {"count": True}, "Print log messages to stderr; -vv prints all of them."),
    ("--debug", {"is_flag": True}, "Show the traceback when an error occurs."),
)


def _shared_options() -> list[click.Parameter]:
    """Returns new options each time, because an option keeps the parser of its command."""
    return [
        click.Option(
            names.split(),
            expose_value=False,
            callback=_set_on_invocation(names.rpartition("--")[2]),
            help=help,
            **given,
        )
        for names, given, help in _SHARED_OPTIONS
    ]


class _HelpedCommand(click.Command):
    """A command whose help has this order: usage, description, examples, options."""

    context_class = CommandContext
    examples: Sequence[str] = ()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        assert isinstance(formatter, HelpText)
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                formatter.write_examples(self.examples)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [each for each in self.get_params(ctx) if each.name not in _SHARED]
        shared = [each for each in self.get_params(ctx) if each.name in _SHARED]
        for title, params in (("Options", own), ("Options for every command", shared)):
            records = [each.get_help_record(ctx) for each in params if _is_option(each)]
            if rows := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Command(_HelpedCommand):
    """A sub-command. `hint` is the error message for unexpected extra arguments.

    `for_people`: it changes something, below a command that otherwise reads. The tool calls of
    models may not run it.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        hint: str = "",
        for_people: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.hint = hint
        self._for_people = for_people
        self.params += _shared_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if self.hint and error.message.startswith("Got unexpected extra"):
                raise click.UsageError(self.hint, ctx) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command. Raises `SapwoodError` if it is for people and a model started it."""
        refuse_in_tool_call(ctx.command_path, for_people=self._for_people)
        return super().invoke(ctx)


class Commands(_HelpedCommand, click.Group):
    """A sub-command with sub-commands of its own, such as `config`."""

    command_class = Command

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params += _shared_options()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


class WholeNumber(click.IntRange):
    """A whole number within bounds."""

    name = "whole number"


class Number(click.FloatRange):
    """A number within bounds."""

    name = "number"


class HealthPlace(click.ParamType[tuple[str, int]]):
    """The host and port of a health server."""

    name = "[HOST:]PORT"
    help = "Serve /healthz, /readyz and /metrics on this port; without a host, on 127.0.0.1."

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        """The host, 127.0.0.1 if there is none, and the port."""
        host, _, port = value.rpartition(":")
        if not port.isdecimal() or int(port) > 65_535:
            self.fail("Give a port, such as 9090 or 0.0.0.0:9090.", param, ctx)
        return host or "127.0.0.1", int(port)


def command(
    *, examples: Sequence[str] = (), hint: str = ""
) -> Callable[[Callable[..., Any]], Command]:
    """Returns a decorator that turns a function into a sub-command. Its docstring is the help."""

    def decorate(function: Callable[..., Any]) -> Command:
        return click.command(cls=Command, examples=examples, hint=hint)(function)

    return decorate


def group(
    *, examples: Sequence[str] = (), invoke_without_command: bool = True
) -> Callable[[Callable[..., Any]], Commands]:
    """Returns a decorator that turns a function into a sub-command with sub-commands."""

    def decorate(function: Callable[..., Any]) -> Commands:
        made = click.group(
            cls=Commands, examples=examples, invoke_without_command=invoke_without_command
        )
        return made(function)

    return decorate


def in_event_loop(
    function: Callable[Concatenate[Invocation, P], Coroutine[Any, Any, R]],
) -> Callable[P, R]:
    """Makes a command of an async function, which gets the invocation as its first argument."""

    @click.pass_obj
    @wraps(function)
    def run(invocation: Invocation, *args: P.args, **kwargs: P.kwargs) -> R:
        return invocation.run(lambda: function(invocation, *args, **kwargs))

    return run


def listen_options(port: int) -> Callable[[F], F]:
    """Returns a decorator that adds `--port`, which is this one by default, and `--host`."""

    def decorate(function: F) -> F:
        with_host = click.option(
            "--host",
            default="127.0.0.1",
            show_default=True,
            metavar="ADDRESS",
            help="Address to listen on.",
        )(function)
        return click.option(
            "--port",
            type=WholeNumber(0, 65_535),
            default=port,
            show_default=True,
            metavar="N",
            help="Port to listen on; 0 picks a free one.",
        )(with_host)

    return decorate


folder_option = click.option(
    "--folder",
    "folders",
    multiple=True,
    metavar="SPACE=PATH",
    help="Let a space's agents work in this folder; repeatable. '*=/srv/{space}' covers all other "
    "spaces.",
)
"""The option `--folder` of commands that run the agents of several spaces."""


def json_option(help: str = "Print JSON, one object per line.") -> Callable[[F], F]:
    """Returns a decorator that adds the option `--json`."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def parse_since(since: str | None) -> int:
    """Parses a date or an age such as 7d into microseconds since 1970; 0 for None.

    Raises `click.UsageError`.
    """
    from datetime import UTC, datetime

    from sapwood.display.quantities import now

    if since is None:
        return 0
    number, unit = since[:-1], since[-1:]
    if number.isdigit() and len(number) < 6 and unit in _UNITS:
        return now() - int(number) * _UNITS[unit] * 1_000_000
    try:
        when = datetime.fromisoformat(since).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.UsageError(
            "--since takes an age such as 7d, 12h or 30m, or a date such as 2026-11-14."
        ) from None
    return int(when.timestamp() * 1_000_000)


def _is_option(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option)
