"""What every sub-command has: examples in its help, and the options that all share."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from sapwood.cli.helping import Context, Page
from sapwood.cli.invocation import Invocation

__all__ = ["Command", "Commands", "command", "group", "json_option"]

F = TypeVar("F", bound=Callable[..., Any])


def _remember(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.ensure_object(Invocation), name, value)

    return remember


def _shared_options() -> list[click.Parameter]:
    """New ones for each command, because an option knows its command's parser."""
    return [
        click.Option(
            ["-d", "--database"],
            metavar="ADDRESS",
            expose_value=False,
            callback=_remember("database"),
            help="A path or postgresql://…, instead of the configured one.",
        ),
        click.Option(
            ["--space"],
            metavar="NAME",
            expose_value=False,
            callback=_remember("space"),
            help="The space, instead of the configured one.",
        ),
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_remember("verbose"),
            help="Tell what happens, on stderr; -vv tells all.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_remember("debug"),
            help="Show the traceback of an error.",
        ),
    ]


class _Helped(click.Command):
    """Help in the order in which it is needed: usage, what it is for, examples, options."""

    context_class = Context
    examples: Sequence[str] = ()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        assert isinstance(formatter, Page)
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                formatter.write_examples(self.examples)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [each for each in self.get_params(ctx) if each.name not in _SHARED]
        shared = [each for each in self.get_params(ctx) if each.name in _SHARED]
        for title, params in (("Options", own), ("Options of every command", shared)):
            records = [each.get_help_record(ctx) for each in params if _is_option(each)]
            if rows := [record for record in records if record is not None]:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Command(_Helped):
    """A sub-command. `hint` is for whoever types a word that it has no place for."""

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), hint: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.hint = hint
        self.params += _shared_options()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            if self.hint and error.message.startswith("Got unexpected extra"):
                raise click.UsageError(self.hint, ctx) from None
            raise


class Commands(_Helped, click.Group):
    """A sub-command with sub-commands of its own, such as `config`."""

    command_class = Command

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples
        self.params += _shared_options()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


def command(
    *, examples: Sequence[str] = (), hint: str = ""
) -> Callable[[Callable[..., Any]], Command]:
    """Makes a sub-command of a function. Its docstring is the help."""

    def decorate(function: Callable[..., Any]) -> Command:
        return click.command(cls=Command, examples=examples, hint=hint)(function)

    return decorate


def group(
    *, examples: Sequence[str] = (), invoke_without_command: bool = True
) -> Callable[[Callable[..., Any]], Commands]:
    """Makes a sub-command that has sub-commands."""

    def decorate(function: Callable[..., Any]) -> Commands:
        made = click.group(
            cls=Commands, examples=examples, invoke_without_command=invoke_without_command
        )
        return made(function)

    return decorate


def json_option(help: str = "Print JSON, one object a line.") -> Callable[[F], F]:
    """`--json`, for commands whose output programs read."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def _is_option(parameter: click.Parameter) -> bool:
    return isinstance(parameter, click.Option)


_SHARED = frozenset({"database", "space", "verbose", "debug"})
