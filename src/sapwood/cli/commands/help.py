"""`sapwood help`, `completion`, and the help of `sapwood hook`, which `sapwood.cli.main` runs."""

import click

from sapwood.cli.command import HelpText
from sapwood.cli.command import command as subcommand
from sapwood.hooks.runner import HOOKS, main


@subcommand(examples=["sapwood help", "sapwood help sessions", "sapwood help clear"])
@click.argument("topic", default="")
@click.pass_context
def help_command(context: click.Context, topic: str) -> None:
    """List all commands or one group, or explain a command.

    TOPIC is a group, such as sessions, or a command.
    """
    from sapwood.cli.root import (
        PLUGINS,
        SECTIONS,
        group_of,
        plugin_commands,
        plugin_summary,
        root,
    )

    parent = context.parent or context
    shown = {
        title: section
        for title, section in SECTIONS.items()
        if topic.lower() in ("", group_of(title))
    }
    if topic.lower() in ("", group_of(PLUGINS)) and (added := plugin_commands()):
        shown[PLUGINS] = {name: plugin_summary(name) for name in added}
    if not shown:
        _, found, _ = root.resolve_command(parent, [topic])
        assert found is not None
        click.echo(found.get_help(type(context)(found, parent, topic)))
        return
    page = HelpText()
    for title, section in shown.items():
        with page.section(title):
            page.write_dl(list(section.items()))
    click.echo(page.getvalue().strip("\n"))


_VARIABLE = "_SAPWOOD_COMPLETE"


@subcommand(
    examples=[
        "echo 'eval \"$(sapwood completion bash)\"' >> ~/.bashrc",
        "echo 'eval \"$(sapwood completion zsh)\"' >> ~/.zshrc",
        "sapwood completion fish > ~/.config/fish/completions/sapwood.fish",
    ]
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print a completion script for a shell.

    The script completes commands, options, agents, marks, settings and MCP servers. It needs
    bash 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    from sapwood.cli.root import root

    made = get_completion_class(shell)
    assert made is not None
    script = made(root, {}, "sapwood", _VARIABLE).source()
    # Bash says by COMP_TYPE whether it lists what there is, or inserts it.
    click.echo(script.replace("$COMP_CWORD", '$COMP_CWORD COMP_TYPE="$COMP_TYPE"'))


@subcommand(examples=["sapwood hook pre-compact < input.json"])
@click.argument("name", type=click.Choice(HOOKS))
def hook_command(name: str) -> None:
    """Handle a hook or status line call from an agent program.

    Called by the plugin that sapwood install adds, with JSON on stdin. The exit code is always 0.
    To see errors, type: sapwood journal
    """
    main(name)
