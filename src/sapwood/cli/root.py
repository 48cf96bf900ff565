"""The root of the command line: finds sub-commands by name and imports the one that is meant."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.command import Commands
from sapwood.cli.invocation import Invocation
from sapwood.cli.listing import SECTIONS, lines, nearest_names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["Unread", "root"]


# Where a command has a name that no module can have.
_MODULES = {"import": "importing"}


class Unread(Exception):
    """Whoever read our output has stopped, as `head` does."""


class _Root(Commands):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(lines())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in lines():
            return None
        module = import_module(f"sapwood.cli.commands.{_MODULES.get(cmd_name, cmd_name)}")
        found = module.command
        assert isinstance(found, click.Command)
        return found

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise Unread from error  # which click would take for a failure

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in lines() and not ctx.resilient_parsing:
            close = " or ".join(nearest_names(name))
            instead = f"Did you mean {close}?" if close else "sapwood --help lists them."
            raise click.UsageError(f"There is no command '{name}'. {instead}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(section.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        own = [
            CompletionItem(name, help=line)
            for name, line in lines().items()
            if name.startswith(incomplete)
        ]
        return own or click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=_Root,
    invoke_without_command=True,
    examples=[
        "sapwood",
        'sapwood run -p "What is 6 x 7?"',
        "sapwood agents",
        "sapwood doctor",
    ],
)
@click.option("--inline", is_flag=True, help="Print below the prompt, into your own scrollback.")
@click.option("--print", "prints", is_flag=True, help="Print the conversation on leaving.")
@click.option("--version", is_flag=True, help="Show the version and leave.")
@click.pass_context
def root(context: click.Context, inline: bool, prints: bool, version: bool) -> None:
    """Conversations with agents: everything is kept, you decide what the model sees.

    Without a command, the last conversation of this folder is opened on the whole screen.

    An AGENT is given by its id, by the start of its id, or by its name. Every command explains
    itself: sapwood COMMAND --help.
    """
    invocation = context.ensure_object(Invocation)
    context.color = invocation.colour()
    if version:
        from importlib.metadata import version as version_of

        click.echo(f"sapwood {version_of('sapwood')}")
        context.exit()
    if context.invoked_subcommand is None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            click.echo(context.get_help())
            return
        from sapwood.cli.screen import open_screen

        open_screen(invocation, inline=inline, prints=prints)
