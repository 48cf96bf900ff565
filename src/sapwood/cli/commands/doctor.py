"""`sapwood doctor`: checks the setup and prints what to type next."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import json_option
from sapwood.cli.exit_codes import Exit
from sapwood.cli.invocation import Invocation


@subcommand(examples=["sapwood doctor", "sapwood doctor --offline --json"])
@click.option(
    "--offline", is_flag=True, help="Do not connect to the model provider or to MCP servers."
)
@json_option()
@click.pass_obj
def command(invocation: Invocation, offline: bool, as_json: bool) -> Exit:
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
    from sapwood.cli.output.reports import finding_lines
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
