"""`sapwood uninstall`: disconnects Sapwood from Claude Code and Codex."""

import click

from sapwood.cli.command import command as subcommand

__all__ = ["command"]

_AGENTS = click.Choice(["claude-code", "codex"])


@subcommand(examples=["sapwood uninstall", "sapwood uninstall codex --dry-run"])
@click.argument("agent", type=_AGENTS, required=False)
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@click.option("-y", "--yes", is_flag=True, help="Make the changes without asking.")
def command(agent: str | None, dry_run: bool, yes: bool) -> None:
    """Disconnect Sapwood from Claude Code and Codex, or from one of them.

    Shows the changes, then asks. Restores every byte of the changed files. Archives, the journal
    and imported conversations stay.
    """
    from sapwood.install.agent_program import AGENT_PROGRAMS, program_named
    from sapwood.install.file_edits import edit_lines
    from sapwood.install.installer import apply_uninstall, plan_uninstall
    from sapwood.journal import add_to_journal

    chosen = (program_named(agent),) if agent else AGENT_PROGRAMS
    plans = [(each, plan) for each in chosen if (plan := plan_uninstall(each)).edits]
    for _, plan in plans:
        click.echo("\n".join(edit_lines(plan.edits, plan.folders)))
        click.echo()
    if not plans:
        click.echo(f"Sapwood is not connected with {agent or 'any agent'}.")
    elif dry_run or not (yes or click.confirm("Make these changes?", default=True)):
        click.echo("Nothing was changed.")
    else:
        for each, plan in plans:
            apply_uninstall(each, plan)
            add_to_journal("uninstalled", f"Taken out of {each.name}.", source=each.name)
            click.echo(f"Taken out of {each.name}.")
