"""`sapwood uninstall`: takes Sapwood out of another agent's program, without a trace."""

import click

from sapwood.cli.command import command as subcommand

__all__ = ["command"]

_AGENTS = click.Choice(["claude-code", "codex"])


@subcommand(examples=["sapwood uninstall", "sapwood uninstall codex --dry-run"])
@click.argument("agent", type=_AGENTS, required=False)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(agent: str | None, dry_run: bool, yes: bool) -> None:
    """Take Sapwood out of Claude Code and Codex, or out of one of them.

    Shows what will change, then asks. Every file gets the bytes back that it had. Archives, the
    journal and what was imported are yours and stay.
    """
    from sapwood.app.installing.agents import AGENTS, agent_named
    from sapwood.app.installing.edits import edit_lines
    from sapwood.app.installing.uninstall import carry_out_uninstall, plan_uninstall
    from sapwood.app.journaling import note

    chosen = (agent_named(agent),) if agent else AGENTS
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
            carry_out_uninstall(each, plan)
            note("uninstalled", f"Taken out of {each.name}.", source=each.name)
            click.echo(f"Taken out of {each.name}.")
