"""`sapwood journal`: every act that Sapwood took on the user's behalf."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.numbers import Whole

__all__ = ["command"]


@subcommand(
    examples=["sapwood journal", "sapwood journal -n 5 --did failed", "sapwood journal --json"]
)
@click.option("-n", "--last", type=Whole(1), default=20, help="How many; 20 if not said.")
@click.option("--did", metavar="WHAT", help="Only this: archived, resumed, warned, failed …")
@click.option(
    "--session", metavar="ID", help="Only of this session; the start of its id is enough."
)
@json_option()
def command(last: int, did: str | None, session: str | None, as_json: bool) -> None:
    """Show every act that Sapwood took on your behalf.

    Archives made before a compaction, prompts brought back after it, warnings, imports, and hooks
    that failed. Oldest first.
    """
    from collections import deque

    from sapwood.app.journaling import acts as written_acts
    from sapwood.cli.display.acts import act_lines
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines

    acts = deque(
        (
            act
            for act in written_acts()
            if (did is None or act.did == did) and act.session.startswith(session or "")
        ),
        maxlen=last,
    )
    if as_json:
        print_lines(json_line(act) for act in acts)
    elif not acts:
        click.echo("Nothing yet. sapwood install claude-code connects Sapwood with an agent.")
    else:
        print_lines(act_lines(acts, columns()))
