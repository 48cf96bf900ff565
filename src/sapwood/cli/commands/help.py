"""`sapwood help`: all commands by group, those of one group, or the help of a command."""

import click

from sapwood.cli.command import HelpPage
from sapwood.cli.command import command as subcommand


@subcommand(examples=["sapwood help", "sapwood help sessions", "sapwood help clear"])
@click.argument("topic", default="")
@click.pass_context
def command(context: click.Context, topic: str) -> None:
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
    page = HelpPage()
    for title, section in shown.items():
        with page.section(title):
            page.write_dl(list(section.items()))
    click.echo(page.getvalue().strip("\n"))
