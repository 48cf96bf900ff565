"""Judges a session in the background, when it is due: at its end and every twenty turns."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sapwood.hooks.watched_session import WatchedSession
from sapwood.journal import add_to_journal

if TYPE_CHECKING:
    from sapwood.config.config_file import Config
    from sapwood.context_actions.session_judge import JudgeOutcome


TURNS_BETWEEN = 20
"""New turns after which a session is judged again."""


def count_turns(watched: WatchedSession, new_turns: int) -> None:
    """Remembers how many turns came since the session was last judged."""
    if new_turns:
        watched.memory.put("unjudged", watched.memory.number("unjudged") + new_turns)


def judge_if_due(watched: WatchedSession, environ: Mapping[str, str]) -> bool:
    """Has the configured judge judge the session if it is due. Returns whether it said something.

    Without a judge nothing happens.
    """
    from sapwood.config.config_file import load_config

    config, memory = load_config(environ), watched.memory
    if config.tending.judge in ("", "off"):
        return False
    if memory.number("unjudged") < (1 if memory.number("ended") else TURNS_BETWEEN):
        return False
    memory.put("unjudged", 0)  # a judge that fails is asked again after as many turns
    return _judge(watched, config, environ)


def _judge(watched: WatchedSession, config: "Config", environ: Mapping[str, str]) -> bool:
    from sapwood.core.errors import SapwoodError
    from sapwood.core.model_calls import Failure

    about = {"session": watched.session, "folder": watched.folder}
    judge = config.tending.judge
    try:
        outcome = asyncio.run(_outcome(watched, config, environ))
    except (Failure, SapwoodError, OSError) as error:
        message = (
            f"{judge} could not judge the session: {error} The results of the rules are unchanged."
        )
        add_to_journal("failed", message, **about)
        return False
    if outcome.result != "nothing":
        kind = "judged" if outcome.result == "judged" else "failed"
        add_to_journal(kind, outcome.describe(judge), **about)
    return outcome.result == "judged"


async def _outcome(
    watched: WatchedSession, config: "Config", environ: Mapping[str, str]
) -> "JudgeOutcome":
    from msgspec import structs

    from sapwood.app.connection import connect
    from sapwood.app.judges import ask_judge
    from sapwood.config.api_keys import load_keys
    from sapwood.context_actions.session_judge import JudgeReply, SessionJudge
    from sapwood.programs.transcripts.session_reader import read_session

    keys = load_keys(environ)

    async def ask(prompt: str) -> JudgeReply:
        return await ask_judge(config, prompt, keys, environ)

    found = await asyncio.to_thread(read_session, Path(watched.path))
    folder = found.folder or watched.folder
    session = structs.replace(found, id=watched.session or found.id, folder=folder)
    return await SessionJudge(config, connect, ask).judge(session, tuple(keys.values()))
