"""`sapwood restore`: brings a conversation back from storage, or a session back to its program."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(
    examples=[
        "sapwood restore 4cfa198d --to claude-code",
        "sapwood restore demo",
        "sapwood restore --from s3://bucket/a/b.jsonl.gz",
    ]
)
@click.argument("agent", type=AGENT, required=False, metavar="[SESSION]")
@click.option(
    "--to",
    "program",
    default="",
    metavar="PROGRAM",
    help="Put a deleted session back into claude-code or codex.",
)
@click.option(
    "--from",
    "address",
    default="",
    metavar="ADDRESS",
    help="Restore this object, which has no stub.",
)
@click.option("--by", default="", metavar="NAME", help="Who requested it, for the record.")
@click.pass_obj
def command(invocation: Invocation, agent: str | None, program: str, address: str, by: str) -> None:
    """Put a deleted session back into its program, or restore an archive.

    With --to, SESSION is a session that Claude Code or Codex deleted and Sapwood imported: its id,
    or its agent. The program lists and resumes it again.

    Otherwise the archived conversation replaces its stub, with all descendants and the same ids and
    versions. The object in storage is kept. Anyone following events sees them again as new.
    """
    if program:
        if not agent or address:
            raise click.UsageError("--to takes a session: sapwood restore SESSION --to PROGRAM")
        invocation.run(lambda: _put_back(invocation, agent, _known(program)))
        return
    if bool(agent) == bool(address):
        raise click.UsageError("Give an agent, or an object with --from.")
    invocation.run(lambda: _restore(invocation, agent or "", address, by))


def _known(name: str) -> str:
    from sapwood.programs.registry import programs_with

    names = [each.name for each in programs_with("provider")]
    if name not in names:
        raise click.UsageError(f"--to takes {' or '.join(names)}, not '{name}'.")
    return name


async def _put_back(invocation: Invocation, typed: str, target: str) -> None:
    from sapwood.app.connection import connect
    from sapwood.context_actions.session_restore import restore_session

    async with invocation.connected() as connection:
        done = await restore_session(connection, connect, invocation.config, typed, target)
    for line in done.lines:
        click.echo(line)


async def _restore(invocation: Invocation, typed: str, address: str, by: str) -> None:
    from sapwood.app.archive import restore_agent
    from sapwood.conversation.agent_lookup import find
    from sapwood.core.events import Actor
    from sapwood.core.plural import counted

    async with invocation.connected() as connection:
        agent = await find(connection, typed) if typed else None
        who = str(Actor("human", by))
        agents = await restore_agent(connection, agent, address, by=who)
        click.echo(f"Restored {typed or address}: {counted(agents, 'agent')}.")
