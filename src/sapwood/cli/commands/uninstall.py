"""`sapwood uninstall`: disconnects Sapwood from agent programs."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.programs.registry import program, programs_with

_AGENTS = click.Choice([each.name for each in programs_with("installer")])


@subcommand(examples=["sapwood uninstall", "sapwood uninstall codex --dry-run"])
@click.argument("agent", type=_AGENTS, required=False)
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@click.option("-y", "--yes", is_flag=True, help="Make the changes without asking.")
def command(agent: str | None, dry_run: bool, yes: bool) -> None:
    """Disconnect Sapwood from Claude Code, Codex or both.

    Shows the changes, then asks. Restores the changed files byte for byte. Archives, the journal
    and imported conversations are kept.
    """
    from sapwood.cli.console import confirmed
    from sapwood.journal import add_to_journal
    from sapwood.programs.installation.file_edits import InstallError, edit_lines
    from sapwood.programs.installation.installer import apply_uninstall, plan_uninstall
    from sapwood.programs.program import Program

    chosen = (program(agent),) if agent else programs_with("installer")
    problems: dict[str, InstallError] = {}
    connected: list[Program] = []
    for each in chosen:
        try:
            plan = plan_uninstall(each)
        except InstallError as error:  # the other program can still be disconnected
            problems[each.name] = error
            continue
        if plan.edits:
            connected.append(each)
            click.echo("\n".join(edit_lines(plan.edits, plan.folders)))
            click.echo()
    if not connected and not problems:
        click.echo(f"Sapwood is not connected to {agent or 'any agent'}.")
    elif connected and (dry_run or not (yes or confirmed("Make these changes?"))):
        click.echo("Nothing was changed.")
        connected = []
    for each in connected:
        try:
            # Planned again: the files may have changed while the question was open.
            apply_uninstall(each, plan_uninstall(each))
        except InstallError as error:
            problems[each.name] = error
            continue
        add_to_journal("uninstalled", f"Removed from {each.name}.", source=each.name)
        click.echo(f"Removed from {each.name}.")
    if problems:
        raise InstallError(
            "\n".join(f"{name} is still connected. {error}" for name, error in problems.items())
        )
