"""`sapwood journal`: shows every action that Sapwood took for the user."""

import click

from sapwood.cli.command import WholeNumber, json_option
from sapwood.cli.command import command as subcommand


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
def command(last: int, did: str | None, session: str | None, as_json: bool) -> None:
    """Show what Sapwood did on your behalf.

    Oldest first: archives before a compaction, resumption prompts after it, warnings, imports and
    failed hooks.
    """
    from collections import deque

    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.event_text import json_line
    from sapwood.cli.output.reports import journal_lines
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
