"""The root of the command line: the list of sub-commands, and the import of the one to run."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.command import Command, Commands
from sapwood.cli.invocation import Invocation
from sapwood.cli.tool_call_origin import refuse_in_tool_call

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


SECTIONS: dict[str, dict[str, str]] = {
    "Talk": {
        "open": "Open a conversation in the terminal UI",
        "run": "Send a prompt, or run a script of prompts and commands",
        "do": "Run slash commands on an agent, such as /mark X",
        "answer": "List questions waiting for a person, or answer one",
        "send": "Send mail to an agent",
    },
    "Inspect": {
        "agents": "List agents",
        "show": "Show a conversation as the model sees it, a turn, or one event",
        "context": "Inspect and manage a session's context: usage, focus, archives, handoff",
        "log": "Show an agent's events",
        "search": "Search all conversations",
        "report": "Report what compactions dropped, and what was read again",
        "replay": "Show the exact request of a model call, verified by its hash",
        "diff": "Compare two contexts",
        "export": "Export a conversation as Markdown, text, JSON or HTML",
    },
    "Control": {
        "fork": "Start a child agent that sees the same context",
        "continue": "Continue a session in another program, or with another model",
        "compact": "Replace the history with a verified summary",
        "interrupt": "Stop an agent's open turn and keep the partial reply",
        "kill": "End an agent and all its descendants",
    },
    "Sessions in agent programs": {
        "clear": "Clear a session, keep its last N turns, or go back to a mark",
        "drop": "Drop turns or tool results from the middle of a session",
        "rewind": "Rewind a session to a mark or a turn",
        "edit": "Rewind to just before a turn and print its prompt for editing",
        "undo": "Undo the last command on a session",
        "redo": "Redo the last undone command",
        "bring": "Bring single turns back that left the view of a session",
        "mark": "Bookmark the current point in a session",
    },
    "Data retention": {
        "backup": "Back up the whole database to a file",
        "retain": "Delete or archive conversations idle for N days",
        "restore": "Put a deleted session back into its program, or restore an archive",
        "erase": "Permanently delete conversations and everything forked from them",
        "hold": "Put a legal hold on a conversation, an owner or a space",
        "keys": "List encrypted spaces, or create or rotate the master key",
    },
    "Integration": {
        "import": "Import sessions of agent programs, such as Claude Code",
        "install": "Connect Sapwood to Claude Code, Codex or pi",
        "uninstall": "Disconnect Sapwood from one agent program, or from all",
        "programs": "Show which agent programs allow changes to their sessions in place",
        "journal": "Show what Sapwood did on your behalf",
        "hook": "Handle a hook or status line call from an agent program",
    },
    "Setup": {
        "help": "List all commands or one group, or explain a command",
        "config": "Show or change the configuration",
        "doctor": "Check the setup and print what to type next",
        "mcp": "Serve the context and slash tools over MCP",
        "acp": "Serve conversations to an editor over the Agent Client Protocol",
        "serve": "Serve conversations over HTTP and in a browser",
        "route": "Send each request to the cell that has its space",
        "token": "Create, list and revoke access tokens for the server",
        "login": "Sign in to a server with a token",
        "migrate": "Upgrade a database to this version of Sapwood",
        "move": "Move a space to another database while it is in use",
        "worker": "Run a database's agents until stopped",
        "top": "Show spaces, workers, queues and cost",
        "completion": "Print a completion script for a shell",
    },
}


FIRST = tuple("open run agents search context clear undo install continue doctor".split())
"""The commands that a person needs first, which are all that the help page explains."""


PLUGINS = "Plug-ins"
"""The section of the commands that plug-ins of others add."""


_MODULES = {
    "import": "import_command",
    **dict.fromkeys(("do", "answer", "send", "interrupt", "kill"), "agent_commands"),
    **dict.fromkeys(("fork", "continue"), "fork_commands"),
    **dict.fromkeys(("uninstall", "programs"), "install"),
    **dict.fromkeys(("backup", "migrate", "move", "keys"), "database_commands"),
    **dict.fromkeys(("retain", "restore", "hold"), "retention_commands"),
    **dict.fromkeys(("show", "log", "replay", "diff"), "inspection_commands"),
    **dict.fromkeys(("completion", "hook"), "help"),
    "journal": "doctor",
    **dict.fromkeys(SECTIONS["Sessions in agent programs"], "session_commands"),
}
"""The modules of commands that do not have a module of their own name.

A command is the function `command` of its module, or `NAME_command`.
"""


NAMES_ELSEWHERE = {
    "chat": "open",
    "delete": "erase",
    "history": "log",
    "list": "agents",
    "ls": "agents",
    "ps": "agents",
    "remove": "erase",
    "resume": "open",
    "rm": "erase",
    "sessions": "agents",
    "stop": "interrupt",
    "tail": "log",
    "web": "serve",
}
"""The names that other programs have for a command, with ours."""


def summary_lines() -> dict[str, str]:
    """Returns each sub-command with its summary, in the order of the help page."""
    return {name: line for section in SECTIONS.values() for name, line in section.items()}


def group_of(title: str) -> str:
    """The word that means a section in `sapwood help GROUP`.

    >>> group_of("Data retention")
    'data'
    """
    return title.split()[0].lower()


def nearest_names(word: str) -> list[str]:
    """Returns the sub-command that does what `word` does elsewhere, or those with close names."""
    if word in NAMES_ELSEWHERE:
        return [NAMES_ELSEWHERE[word]]
    from difflib import get_close_matches

    return get_close_matches(word, list(summary_lines()), n=3, cutoff=0.5)


def _own_command(name: str) -> click.Command | None:
    """A command of our own; None if it comes with a plug-in."""
    if name not in summary_lines():
        return None
    path = f"sapwood.cli.commands.{_MODULES.get(name, name)}"
    try:
        module = import_module(path)
    except ModuleNotFoundError as missing:
        if missing.name != path:
            raise
        return None
    own = vars(module)
    found: object = own.get(f"{name}_command") or own.get("command") or module.COMMANDS[name]
    assert isinstance(found, click.Command)
    return found


def _plugin_command(name: str) -> click.Command | None:
    """The command that a plug-in adds; None if there is none. Raises `PluginError`."""
    from sapwood.plugins import load_plugin

    found = load_plugin("commands", name)
    if found is None or isinstance(found, click.Command):
        return found
    from sapwood.core.errors import PluginError

    raise PluginError(f"The plug-in '{name}' is not a command: it was not built with click.")


def plugin_commands() -> list[str]:
    """Returns the names of the commands that plug-ins of others add. Loads none."""
    from sapwood.plugins import plugin_names

    return [name for name in plugin_names("commands") if name not in summary_lines()]


def plugin_summary(name: str) -> str:
    """Returns the first sentence of such a command, or that it cannot be loaded."""
    from sapwood.core.errors import PluginError

    try:
        found = _plugin_command(name)
    except PluginError:
        return "Cannot be loaded. Type: sapwood doctor"
    return found.get_short_help_str(80) if found else ""


class OutputClosed(Exception):
    """The reader of our output, such as `head`, has closed the pipe."""


class _Root(Commands):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(summary_lines())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _own_command(cmd_name) or _plugin_command(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise OutputClosed from error  # click would report a failure

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, *rest = args
        try:
            found = self.get_command(ctx, name)
        except Exception:
            if not ctx.resilient_parsing:  # as a shell does to complete a line
                raise
            found = None
        if found is None and not ctx.resilient_parsing:
            close = " or ".join(nearest_names(name))
            instead = f"Did you mean {close}?" if close else "sapwood --help lists them."
            raise click.UsageError(f"There is no command '{name}'. {instead}", ctx)
        if not isinstance(found, Command | Commands):  # ours ask by themselves
            refuse_in_tool_call(name)
        return name, found, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = summary_lines()
        with formatter.section("Start with"):
            formatter.write_dl([(name, lines[name]) for name in FIRST])
        groups = {group_of(title): [*section] for title, section in SECTIONS.items()}
        if added := plugin_commands():
            groups[group_of(PLUGINS)] = added
        with formatter.section("More, explained by `sapwood help`"):
            formatter.write_dl(
                (group, ", ".join(name for name in names if name not in FIRST))
                for group, names in groups.items()
            )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        own = [
            CompletionItem(name, help=line)
            for name, line in summary_lines().items()
            if name.startswith(incomplete)
        ]
        return own or click.Command.shell_complete(self, ctx, incomplete)


@click.group(
    cls=_Root,
    invoke_without_command=True,
    examples=[
        "sapwood",
        "sapwood --with claude-code",
        'sapwood run -p "What is 6 x 7?"',
        "sapwood agents",
        "sapwood doctor",
    ],
)
@click.option(
    "--with",
    "model",
    default="",
    metavar="NAME",
    help="Use claude-code, codex or this model.",
)
@click.option("--inline", is_flag=True, help="Run inline in the terminal instead of full screen.")
@click.option("--print", "prints", is_flag=True, help="Print the conversation on exit.")
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def root(context: click.Context, model: str, inline: bool, prints: bool, version: bool) -> None:
    """Conversations with agents: everything is kept, and you decide what the model sees.

    Without a command, opens the last conversation in this folder in the terminal UI.

    An AGENT is an agent's id, the start of its id, or its name.
    """
    invocation = context.ensure_object(Invocation)
    context.color = invocation.colour()
    if version:
        from importlib.metadata import version as version_of

        click.echo(f"sapwood {version_of('sapwood')}")
        context.exit()
    if context.invoked_subcommand is None:
        is_bare = not (model or inline or prints)
        if is_bare and not (sys.stdin.isatty() and sys.stdout.isatty()):
            click.echo(context.get_help())
            return
        refuse_in_tool_call("open")
        opening = root.get_command(context, "open")
        assert opening is not None
        context.invoke(opening, model=model, inline=inline, prints=prints)
