"""`sapwood install`, `uninstall` and `programs`: connects Sapwood with agent programs."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.programs.program import Program
from sapwood.programs.registry import program, programs_with

_AGENTS = click.Choice([each.name for each in programs_with("installer")])


@subcommand(
    examples=["sapwood install claude-code", "sapwood install codex --dry-run", "sapwood doctor"]
)
@click.argument("agent", type=_AGENTS)
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@click.option("-y", "--yes", is_flag=True, help="Make the changes without asking.")
def install_command(agent: str, dry_run: bool, yes: bool) -> None:
    """Connect Sapwood to Claude Code, Codex or pi.

    Shows the changes, then asks. Your own settings do not change: Sapwood only adds to the files,
    and sapwood uninstall restores them byte for byte. Respects the variables that name the folders
    of the programs, such as CODEX_HOME.
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
    if plan.hooks:
        click.echo("Hooks. None of them blocks, and one that fails changes nothing:")
        width = max(len(hook.event) for hook in plan.hooks)
        for hook in plan.hooks:
            click.echo(f"  {hook.event:<{width}}  calls sapwood hook {hook.name}")
        click.echo()
    if dry_run:
        if chosen.executable_path() is None:
            click.echo(f"{chosen.title} is not installed. Install it with: {chosen.install}")
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


@subcommand(examples=["sapwood uninstall", "sapwood uninstall codex --dry-run"])
@click.argument("agent", type=_AGENTS, required=False)
@click.option("--dry-run", is_flag=True, help="Show the changes without making them.")
@click.option("-y", "--yes", is_flag=True, help="Make the changes without asking.")
def uninstall_command(agent: str | None, dry_run: bool, yes: bool) -> None:
    """Disconnect Sapwood from one agent program, or from all.

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
            click.echo("\n".join([*edit_lines(plan.edits, plan.folders), *plan.notes]))
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


@subcommand(examples=["sapwood programs", "sapwood programs --again", "sapwood programs --json"])
@click.option("--again", is_flag=True, help="Test every program again.")
@json_option()
def programs_command(again: bool, as_json: bool) -> None:
    """Show which agent programs allow changes to their sessions in place.

    A program that was not tested yet is tested now, which takes a few seconds: it runs a session in
    a temporary home against a model server of Sapwood's own. The test needs no login and no
    network, and neither reads nor changes your sessions.
    """
    import time

    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.agent_list import table
    from sapwood.cli.output.event_text import json_line
    from sapwood.display.quantities import ago
    from sapwood.display.text import wrapped
    from sapwood.doctor.program_checks import examine_programs

    reports = examine_programs(again=again)
    if as_json:
        print_lines(json_line(report) for report in reports)
    elif not reports:
        titles = [each.title for each in programs_with("provider")]
        click.echo(f"None of these programs is installed: {', '.join(titles)}.")
    else:
        now = int(time.time() * 1_000_000)
        heads = ("PROGRAM", "VERSION", "CHANGES", "TESTED", "PATH")
        rows = [
            (
                each.program,
                each.version,
                "in place" if each.in_place else "new session",
                ago(each.tested, now),
                each.path,
            )
            for each in reports
        ]
        print_lines(table(heads, rows, columns()))
        for each in reports:
            print_lines(wrapped(each.reason, columns(), "") if each.reason else ())
