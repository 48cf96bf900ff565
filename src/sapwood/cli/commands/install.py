"""`sapwood install`: connects Sapwood with an agent program."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.programs.program import Program
from sapwood.programs.registry import program, programs_with

_AGENTS = click.Choice([each.name for each in programs_with("installer")])


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
    Then it asks once whether the program may judge chapters and decisions.
    """
    from sapwood.cli.console import columns, confirmed
    from sapwood.display.text import wrapped
    from sapwood.journal import add_to_journal
    from sapwood.programs.installation.file_edits import edit_lines
    from sapwood.programs.installation.installer import apply_install, plan_install

    chosen = program(agent)
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
        told = f"Sapwood is set up for {chosen.title}. It takes effect in your next session."
        click.echo(f"{told} {chosen.installed_note}".rstrip())
    else:
        click.echo("Nothing was changed.")
        return
    for sentence in plan.notes:
        click.echo("\n".join(wrapped(sentence, columns(), "")))
    if not yes:
        _offer_judge(chosen)


def _offer_judge(chosen: Program) -> None:
    """Asks whether the program may judge, unless the setting was made before. Stores the answer."""
    from sapwood.config.editor import get_setting, set_setting

    setting = get_setting("tending.judge")
    if setting.origin or chosen.executable_path() is None:
        return
    dollars = get_setting("tending.judge_cost").typed
    try:
        judges = click.confirm(
            f"Let {chosen.title} judge in the background what was decided and what is off the "
            f"task?\nIt uses your {chosen.executable} and costs at most ${dollars} a session.",
            default=False,
        )
    except click.Abort:
        return  # nobody can answer: the offer stays open
    set_setting("tending.judge", chosen.name if judges else "off")
    if not judges:
        click.echo(f"You can change that: sapwood config set tending.judge {chosen.name}")
