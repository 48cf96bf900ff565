"""`sapwood doctor`: what is set up and works, and what to type next."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.exits import Exit
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


@subcommand(examples=["sapwood doctor", "sapwood doctor --offline --json"])
@click.option("--offline", is_flag=True, help="Try neither the model's server nor MCP servers.")
@json_option()
@click.pass_obj
def command(invocation: Invocation, offline: bool, as_json: bool) -> Exit:
    """Say what is set up and works, and what to type next.

    Looks at the configuration, the database and its events, the keys (which are never shown), the
    model, the MCP servers, and what else is installed. Changes nothing. Ends with 1 when something
    has to be mended.
    """
    import asyncio

    return asyncio.run(_examine(invocation, offline, as_json))


async def _examine(invocation: Invocation, offline: bool, as_json: bool) -> Exit:
    import logging

    from sapwood.app.checking import examine
    from sapwood.cli.display.findings import finding_lines
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines

    logging.getLogger("sapwood").addHandler(logging.NullHandler())  # the findings say it all
    given = {"database": invocation.database, "space": invocation.space}

    def tell(events: int) -> None:
        click.echo(f"Reading events: {events:,} so far.", err=True)

    wanted = {k: v for k, v in given.items() if v}
    findings = await examine(wanted, online=not offline, tell=tell)
    if as_json:
        print_lines(json_line(finding) for finding in findings)
    else:
        print_lines(finding_lines(findings, columns()))
    is_well = all(finding.state != "broken" for finding in findings)
    return Exit.OK if is_well else Exit.FAILED
