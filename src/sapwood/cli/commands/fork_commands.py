"""`sapwood fork` and `continue`: a child that sees the same context, here or in another program."""

import click

from sapwood.cli.command import command as subcommand
from sapwood.cli.command import in_event_loop
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import AGENT, MARK


@subcommand(
    examples=[
        "sapwood fork demo",
        'sapwood fork demo START --name leak --goal "Find the leak."',
        'sapwood fork demo --worktree fix-leak --goal "Fix the leak."',
        'sapwood fork --from 4cfa19 --goal "Review what was done."',
        "sapwood fork --session 4cfa19 START",
    ]
)
@click.argument("agent", type=AGENT, required=False)
@click.argument("mark", type=MARK, required=False)
@click.option("-g", "--goal", default="", metavar="TEXT", help="The child's first prompt.")
@click.option("--name", default="", metavar="NAME", help="Name for the child.")
@click.option(
    "--model",
    "--with",
    "model",
    default="",
    metavar="NAME",
    help="Model for the child, or claude-code or codex, instead of the parent's.",
)
@click.option(
    "--from",
    "session",
    default="",
    metavar="SESSION",
    help="Fork another program's session, given its id or transcript.",
)
@click.option(
    "--worktree",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[BRANCH]",
    help="Give the child its own git worktree and branch.",
)
@click.option(
    "--session",
    "native",
    default="",
    metavar="SESSION",
    help="Fork a session of an agent program into a new session there.",
)
@click.option("--json", "as_json", is_flag=True, help="With --session: print one JSON object.")
@click.pass_obj
def fork_command(
    invocation: Invocation,
    agent: str | None,
    mark: str | None,
    goal: str,
    name: str,
    model: str,
    session: str,
    worktree: str | None,
    native: str,
    as_json: bool,
) -> None:
    """Start a child agent that sees the same context.

    With a MARK, the child sees only what came after it. Nothing is copied. Later changes to the
    parent do not affect the child. A child with a goal has work to do: a worker runs it, or run it
    yourself with sapwood run --agent CHILD. With --from, Sapwood imports a session of an agent
    program first, and the child continues in Sapwood. With --session ID [MARK], the fork is a new
    session in the same program, and Sapwood prints the command that opens it.
    """
    if native:
        from sapwood.cli.commands.session_commands import run_session_command

        if mark or session or goal or model or name or worktree is not None:
            raise click.UsageError("With --session, give at most a mark and no other argument.")
        run_session_command("fork", agent or "", native, as_json=as_json)
        return
    if bool(agent) == bool(session):
        raise click.UsageError("Give an agent to fork, or a session with --from.")
    if mark and session:
        raise click.UsageError("A mark needs an agent.")
    if session:
        if worktree is not None:
            raise click.UsageError("--worktree needs an agent. Import the session first.")
        invocation.run(lambda: _fork_session(invocation, session, goal, name, model))
    else:
        invocation.run(lambda: _fork(invocation, agent or "", mark, goal, name, model, worktree))


async def _fork(
    invocation: Invocation,
    typed: str,
    mark: str | None,
    goal: str,
    name: str,
    model: str,
    worktree: str | None,
) -> None:
    from sapwood.app.conversation_service import offline_service
    from sapwood.config.api_keys import load_keys
    from sapwood.conversation.agent_lookup import find
    from sapwood.conversation.configured_models import switch_model
    from sapwood.core.errors import accepted

    async with invocation.connected_for_commands() as connection:
        agent = await find(connection, typed)
        service = offline_service(connection, invocation.config)
        change = None
        if model:
            change = accepted(
                await switch_model(connection, invocation.config, load_keys(), model, agent)
            )
        answer = await service.fork(
            agent, mark, goal=goal, name=name, branch=worktree, change=change
        )
        click.echo(answer.message)


async def _fork_session(
    invocation: Invocation, session: str, goal: str, name: str, model: str
) -> None:
    import os
    from pathlib import Path

    from sapwood.app.connection import connect
    from sapwood.config.api_keys import load_keys
    from sapwood.context_actions.session_finder import SessionFinder
    from sapwood.context_actions.session_fork import SessionForker
    from sapwood.conversation.configured_models import switch_model
    from sapwood.core.errors import accepted

    async with invocation.connected_for_commands() as connection:
        forker = SessionForker(connection, SessionFinder(Path.cwd(), invocation.config, connect))
        agent = await forker.agent_of(session)
        change = None
        if model:
            change = accepted(
                await switch_model(
                    connection, invocation.config, load_keys(os.environ), model, agent
                )
            )
        child = await forker.fork(agent, goal=goal, name=name, change=change)
        click.echo(f"Forked. Child: {child} from {agent}")


@subcommand(
    examples=[
        "sapwood continue 4cfa198d --with codex",
        "sapwood continue demo --with claude-code",
        "sapwood continue demo --with gpt-5",
    ]
)
@click.argument("session", type=AGENT)
@click.option(
    "--with",
    "model",
    required=True,
    metavar="NAME",
    help="claude-code, codex, or a model; claude-code:opus also picks the program's model.",
)
@click.option("--name", default="", metavar="NAME", help="Name for the new conversation.")
@in_event_loop
async def continue_command(invocation: Invocation, session: str, model: str, name: str) -> None:
    """Continue a session in another program, or with another model.

    SESSION is an agent, the id of a session of any agent program, or the path of a transcript.
    Sapwood forks it; the original does not change. Claude Code, Codex, opencode or pi gets a new
    session with everything in view, including tool calls and results. Sapwood lists whatever cannot
    be carried over.
    """
    from sapwood.app.connection import connect
    from sapwood.config.api_keys import load_keys
    from sapwood.context_actions.session_continuation import continue_session

    async with invocation.connected_for_commands() as connection:
        done = await continue_session(
            connection, connect, invocation.config, load_keys(), session, model, name=name
        )
    for line in done.lines:
        click.echo(line)
