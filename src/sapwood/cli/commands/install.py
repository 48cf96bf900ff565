"""`sapwood install`: connects Sapwood with another agent's program."""

import click

from sapwood.cli.command import command as subcommand

__all__ = ["command"]

_AGENTS = click.Choice(["claude-code", "codex"])


@subcommand(
    examples=["sapwood install claude-code", "sapwood install codex --dry-run", "sapwood doctor"]
)
@click.argument("agent", type=_AGENTS)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(agent: str, dry_run: bool, yes: bool) -> None:
    """Connect Sapwood with Claude Code or Codex.

    Shows what will change, then asks. Your own settings stay as they are: files are added to, and
    sapwood uninstall puts every byte back. CLAUDE_CONFIG_DIR and CODEX_HOME are respected.
    """
    from sapwood.app.installing.agents import agent_named
    from sapwood.app.installing.edits import edit_lines
    from sapwood.app.installing.install import carry_out_install, plan_install
    from sapwood.app.journaling import note
    from sapwood.cli.helping import columns
    from sapwood.display.text import wrapped

    chosen = agent_named(agent)
    plan = plan_install(chosen)
    if plan.edits:
        click.echo("\n".join(edit_lines(plan.edits, plan.folders)))
        click.echo()
    if dry_run:
        click.echo("Nothing was changed." if plan.edits else "Nothing would change.")
        return
    if not plan.edits:
        click.echo(f"Sapwood is connected with {agent} already.")
    elif yes or click.confirm("Make these changes?", default=True):
        carry_out_install(chosen, plan)
        note("installed", f"Connected with {agent}.", source=agent)
        click.echo(f"Connected with {agent}. Sessions that start from now on are tended.")
    else:
        click.echo("Nothing was changed.")
        return
    for sentence in plan.notes:
        click.echo("\n".join(wrapped(sentence, columns(), "")))
