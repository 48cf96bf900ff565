"""`sapwood install`: connects Sapwood with Claude Code or Codex."""

import click

from sapwood.cli.command import command as subcommand

_AGENTS = click.Choice(["claude-code", "codex"])
_TITLES = {"claude-code": "Claude Code", "codex": "Codex"}
_WATCH = {"claude-code": " Watch the status line, or type !sapwood context."}


@subcommand(
    examples=["sapwood install claude-code", "sapwood install codex --dry-run", "sapwood doctor"]
)
@click.argument("agent", type=_AGENTS)
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@click.option("-y", "--yes", is_flag=True, help="Make the changes without asking.")
def command(agent: str, dry_run: bool, yes: bool) -> None:
    """Connect Sapwood to Claude Code or Codex.

    Shows the changes, then asks. Your own settings do not change: Sapwood only adds to the files,
    and sapwood uninstall restores them byte for byte. Respects CLAUDE_CONFIG_DIR and CODEX_HOME.
    """
    from sapwood.cli.console import columns, confirmed
    from sapwood.display.text import wrapped
    from sapwood.install.agent_program import program_named
    from sapwood.install.file_edits import edit_lines
    from sapwood.install.installer import apply_install, plan_install
    from sapwood.journal import add_to_journal

    chosen = program_named(agent)
    plan = plan_install(chosen)
    if plan.edits:
        click.echo("\n".join(edit_lines(plan.edits, plan.folders)))
        click.echo()
    if dry_run:
        click.echo("Nothing was changed." if plan.edits else "Nothing would change.")
        return
    if not plan.edits:
        click.echo(f"Sapwood is already connected to {agent}.")
    elif yes or confirmed("Make these changes?"):
        fresh = plan_install(chosen)  # the files may have changed while the question was open
        apply_install(chosen, fresh)
        if fresh.edits != plan.edits:
            click.echo(
                "A file changed while Sapwood was waiting for your answer. It was left as it is."
            )
        add_to_journal("installed", f"Connected to {agent}.", source=agent)
        watch = _WATCH.get(agent, "")
        click.echo(
            f"Sapwood is set up for {_TITLES[agent]}. It takes effect in your next session.{watch}"
        )
    else:
        click.echo("Nothing was changed.")
        return
    for sentence in plan.notes:
        click.echo("\n".join(wrapped(sentence, columns(), "")))
