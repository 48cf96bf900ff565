"""`sapwood doctor` and `journal`: the state of the setup, and what Sapwood did."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

import click

from sapwood.cli.command import WholeNumber, json_option
from sapwood.cli.command import command as subcommand
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation
from sapwood.cli.output_gate import styled
from sapwood.display.text import wrapped
from sapwood.doctor.checks import Finding
from sapwood.journal import JournalEntry


@subcommand(examples=["sapwood doctor", "sapwood doctor --offline --json"])
@click.option(
    "--offline", is_flag=True, help="Do not connect to the model provider or to MCP servers."
)
@json_option()
@click.pass_obj
def doctor_command(invocation: Invocation, offline: bool, as_json: bool) -> Exit:
    """Check the setup and print what to type next.

    Checks the configuration, the database and its events, the API keys (without showing them), the
    model, MCP servers, and other installed programs. Changes nothing. The exit code is 1 if
    something is broken.
    """
    import asyncio

    return asyncio.run(_examine(invocation, offline, as_json))


async def _examine(invocation: Invocation, offline: bool, as_json: bool) -> Exit:
    import logging

    from sapwood.app.assembly import server_toolboxes
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.conversation.configured_models import require_model
    from sapwood.doctor.checks import examine

    logging.getLogger("sapwood").addHandler(
        logging.NullHandler()
    )  # the findings contain everything
    options = {"database": invocation.database, "space": invocation.space}
    overrides = {name: value for name, value in options.items() if value}

    def show_progress(events: int) -> None:
        click.echo(f"Reading events: {events:,} so far.", err=True)

    findings = await examine(
        overrides,
        require_model,
        server_toolboxes,
        online=not offline,
        progress=show_progress,
    )
    if as_json:
        print_lines(json_line(finding) for finding in findings)
    else:
        print_lines(finding_lines(findings, columns()))
    is_well = all(finding.state != "broken" for finding in findings)
    return Exit.OK if is_well else Exit.FAILED


@subcommand(
    examples=["sapwood journal", "sapwood journal -n 5 --did failed", "sapwood journal --json"]
)
@click.option(
    "-n",
    "--last",
    type=WholeNumber(1),
    default=20,
    metavar="N",
    show_default=True,
    help="Only the last N entries.",
)
@click.option("--did", metavar="WHAT", help="Only this kind: archived, resumed, warned, failed …")
@click.option("--session", metavar="ID", help="Only this session; the start of its id is enough.")
@json_option()
def journal_command(last: int, did: str | None, session: str | None, as_json: bool) -> None:
    """Show what Sapwood did on your behalf.

    Oldest first: archives before a compaction, resumption prompts after it, warnings, imports and
    failed hooks.
    """
    from collections import deque

    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.journal import entries

    found = deque(
        (
            entry
            for entry in entries()
            if (did is None or entry.kind == did) and entry.session.startswith(session or "")
        ),
        maxlen=last,
    )
    if as_json:
        print_lines(json_line(entry) for entry in found)
    elif not found:
        click.echo("The journal is empty. To connect Sapwood, type: sapwood install claude-code")
    else:
        print_lines(journal_lines(found, columns()))


def journal_lines(entries: Iterable[JournalEntry], width: int) -> list[str]:
    """Returns each entry with its time, its session and its message; below it, its file."""
    lines: list[str] = []
    for entry in entries:
        where = " · ".join(filter(None, (entry.source, entry.session[:8], Path(entry.folder).name)))
        kind = styled(entry.kind, fg="red" if entry.kind == "failed" else None, bold=True)
        lines.append(f"{_clock(entry.at)}  {kind}" + (f"  {where}" if where else ""))
        lines += wrapped(entry.message, width, "  ")
        lines += [f"  {entry.path}"] if entry.path else []
    return lines


def _clock(at: str) -> str:
    try:
        return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return at


_SIGNS = {"ok": ("ok", "green"), "open": ("--", "yellow"), "broken": ("NO", "red")}
_ROOMY = 60


def finding_lines(findings: Sequence[Finding], width: int) -> list[str]:
    """Returns each finding with its sign; below it, the next step."""
    lines: list[str] = []
    topics = max(len(finding.topic) for finding in findings) if width >= _ROOMY else 0
    for finding in findings:
        sign, colour = _SIGNS[finding.state]
        head = f"{finding.topic:<{topics}}  "
        indent = " " * (4 + len(head)) if width >= _ROOMY else "     "
        message = wrapped(finding.message, width, indent)
        first = message[0].lstrip() if width >= _ROOMY else ""
        lines.append(f"{styled(sign, fg=colour)}  {head}{first}".rstrip())
        lines += message[1:] if width >= _ROOMY else message
        lines += wrapped(f"→ {finding.next_step}", width, indent) if finding.next_step else []
    return lines
