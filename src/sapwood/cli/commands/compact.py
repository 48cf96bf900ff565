"""`sapwood compact`: replaces the history of an agent by a checked summary."""

import shlex

import click

from sapwood.cli.command import WholeNumber
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT


@subcommand(
    examples=[
        "sapwood compact demo",
        "sapwood compact demo --keep 2 --words 'the names of the endpoints'",
        "sapwood compact --session 4cfa19 --keep 2",
    ]
)
@click.argument("agent", type=AGENT, required=False)
@click.option(
    "--keep",
    default=0,
    type=WholeNumber(0),
    metavar="N",
    help="Keep the last N turns unchanged.",
)
@click.option(
    "--words", default="", metavar="TEXT", help="What the summary must keep, in your words."
)
@click.option("--anyway", is_flag=True, help="Accept the summary even if key facts are missing.")
@click.option(
    "--session",
    default="",
    metavar="ID",
    help="Compact a session of an agent program that is closed.",
)
@click.option("--json", "as_json", is_flag=True, help="With --session: print one JSON object.")
@click.pass_obj
def command(
    invocation: Invocation,
    agent: str | None,
    keep: int,
    words: str,
    anyway: bool,
    session: str,
    as_json: bool,
) -> None:
    """Replace the history with a verified summary.

    The agent's model writes the summary. Sapwood checks it against the log and asks for a second
    version if too much is missing. If that is not good enough, or anything fails, nothing changes.
    To undo it, type: sapwood do AGENT /undo

    For a session of an agent program, Sapwood builds the summary by rules from the requests,
    actions and decisions, without calling a model. To undo that, type: sapwood undo --session ID
    """
    if bool(agent) == bool(session):
        raise click.UsageError("Give an agent to compact, or a session with --session.")
    if session:
        from sapwood.cli.commands.session_commands import run_session_command

        run_session_command("compact", f"--keep {keep} {words}", session, as_json=as_json)
        return
    arguments = f"--keep {keep} {'--anyway ' if anyway else ''}{words}"
    invocation.run(lambda: _compact(invocation, agent or "", arguments))


async def _compact(invocation: Invocation, typed: str, arguments: str) -> None:
    from sapwood.app.assembly import assemble
    from sapwood.app.conversation_service import conversation_service
    from sapwood.app.engines import local_engine
    from sapwood.cli.run.script_player import slash_answer
    from sapwood.config.api_keys import load_keys
    from sapwood.conversation.agent_lookup import find
    from sapwood.conversation.configured_models import require_model
    from sapwood.core.errors import RefusedError, SapwoodError
    from sapwood.core.refusals import (
        Imported,
        SummaryLacking,
        SummaryOutdated,
        SummaryTooLong,
        TurnIsOpen,
    )

    keys = load_keys()
    async with invocation.connected() as connection:
        agent = await find(connection, typed)
        state = (await connection.dispatcher.open(agent)).state
        if state.origin is not None:
            raise RefusedError(Imported(agent, state.origin.source))
        if connection.server is None:
            require_model(state.settings.model, invocation.config, keys)
        runner = assemble(connection, invocation.config, keys, engine=local_engine())
        config = invocation.config
        service = conversation_service(connection, config, keys, compact=runner.compact)
        try:
            answer = await slash_answer(service, agent, "compact", arguments.rstrip())
        except RefusedError as error:
            compact = f"sapwood compact {shlex.quote(typed)}"
            match error.refusal:
                case SummaryLacking() | SummaryOutdated() | SummaryTooLong() as refused:
                    raise SapwoodError(refused.sentence_for(compact)) from error
                case TurnIsOpen():
                    raise RefusedError(TurnIsOpen(compact)) from error
                case _:
                    raise
        finally:
            await runner.close()
    click.echo(answer.message)
