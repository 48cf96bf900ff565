"""`sapwood report`: what compactions took out of view in all sessions, and what that cost."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option, parse_since
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation

if TYPE_CHECKING:
    from sapwood.report.figures import Report, SweptSession
    from sapwood.report.scan import Selection


@subcommand(
    examples=[
        "sapwood report",
        "sapwood report --since 30d --project .",
        "sapwood report --html report.html",
    ]
)
@click.option("--since", metavar="WHEN", help="Only sessions used since: 7d, 12h or 2026-11-14.")
@click.option(
    "--program", "programs", multiple=True, metavar="NAME", help="Only this program's sessions."
)
@click.option(
    "--project",
    metavar="FOLDER",
    type=click.Path(),
    help="Only sessions that ran in this folder or below it.",
)
@click.option("--html", "page", metavar="FILE", type=click.Path(), help="Write a page with charts.")
@json_option("Print one JSON object.")
@click.pass_obj
def command(
    invocation: Invocation,
    since: str | None,
    programs: tuple[str, ...],
    project: str | None,
    page: str | None,
    as_json: bool,
) -> Exit:
    """Report what compactions dropped, and what was read again.

    Reads every session of Claude Code, Codex, Gemini CLI, opencode and pi on this machine. Counts
    sessions, turns and compactions, and lists what each compaction dropped, which of it was read or
    run again and what that cost, and the commands that bring it back. Calls no model and stores
    nothing.
    """
    from pathlib import Path

    from msgspec import structs

    from sapwood.cli.console import Progress, columns, print_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.cli.output.report_text import report_json, report_lines
    from sapwood.display.quantities import now
    from sapwood.report.scan import Selection, find_sessions, make_report

    folder = Path(project).expanduser().resolve() if project else None
    selection = Selection(parse_since(since), _known(programs), folder)
    files = find_sessions(selection)
    with Progress(files.size) as progress:
        progress.set_label(f"{len(files.sessions)} sessions")
        report = make_report(files, now(), progress.advance)
    for problem in report.problems:
        click.echo(problem, err=True)
    report = structs.replace(report, swept=_swept(invocation, selection))
    if not report.sessions and not report.swept:
        click.echo(_nothing_found(selection), err=True)
        return Exit.NO_SESSION
    if page:
        _write_page(page, report)
    if as_json:
        click.echo(json_line(report_json(report)))
    elif not page:
        print_lines(report_lines(report, columns()))
    return Exit.OK


def _known(programs: tuple[str, ...]) -> frozenset[str]:
    """The names of programs that were typed. Raises `click.UsageError` for another name."""
    from sapwood.programs.registry import programs_with

    names = [each.name for each in programs_with("sessions")]
    for each in programs:
        if each not in names:
            known = ", ".join(names)
            raise click.UsageError(f"There is no program '{each}'. --program takes: {known}.")
    return frozenset(programs)


def _swept(invocation: Invocation, selection: "Selection") -> "tuple[SweptSession, ...]":
    """The sessions that only Sapwood has; none if there is no database."""
    from sapwood.context_actions.session_finder import database_exists
    from sapwood.core.errors import LogError
    from sapwood.report.scan import swept_sessions

    if not database_exists(invocation.config):
        return ()

    async def read() -> "tuple[SweptSession, ...]":
        async with invocation.connected() as connection:
            return await swept_sessions(connection.log, connection.space, selection)

    try:
        return invocation.run(read)
    except LogError as error:
        click.echo(f"Deleted sessions are not listed: {error}", err=True)
        return ()


def _nothing_found(selection: "Selection") -> str:
    from sapwood.core.plural import either
    from sapwood.programs.registry import programs_with

    if selection.project is not None:
        ran = f"No session ran in {selection.project}"
        return f"{ran}. To see all projects, type: sapwood report"
    if selection.since:
        return "No session was used since then. To see all sessions, type: sapwood report"
    wanted = [
        each
        for each in programs_with("sessions")
        if not selection.programs or each.name in selection.programs
    ]
    searched = ", ".join(str(each.home()) for each in wanted)
    variables = either(each.home_variable for each in wanted)
    return (
        f"No sessions were found in {searched}. If they are elsewhere, set {variables} to that "
        "folder."
    )


def _write_page(file: str, report: "Report") -> None:
    """Writes the page. Raises `click.UsageError` if the file cannot be written."""
    from sapwood.cli.console import write_output
    from sapwood.report.page import report_page

    try:
        write_output(file, report_page(report))
    except OSError as error:
        raise click.UsageError(f"'{file}' cannot be written: {error.strerror}.") from error
    click.echo(f"Wrote {file}. The page loads nothing from the network.", err=True)
