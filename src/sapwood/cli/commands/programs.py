"""`sapwood programs`: shows which agent programs' sessions can be changed in place."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option


@subcommand(examples=["sapwood programs", "sapwood programs --again", "sapwood programs --json"])
@click.option("--again", is_flag=True, help="Test every program again.")
@json_option()
def command(again: bool, as_json: bool) -> None:
    """Show which agent programs allow changes to their sessions in place.

    A program that was not tested yet is tested now, which takes a few seconds: it runs a session in
    a temporary home against a model server of Sapwood's own. The test needs no login and no
    network, and neither reads nor changes your sessions.
    """
    import time

    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.agent_table import table
    from sapwood.cli.output.event_text import json_line
    from sapwood.display.quantities import ago
    from sapwood.display.text import wrapped
    from sapwood.doctor.program_sessions import examine_programs

    reports = examine_programs(again=again)
    if as_json:
        print_lines(json_line(report) for report in reports)
    elif not reports:
        click.echo("Neither Claude Code nor Codex is installed.")
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
