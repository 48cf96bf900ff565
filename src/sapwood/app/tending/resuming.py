"""The resumption prompt of a session, with the way to its archive."""

from collections.abc import Mapping

from sapwood.app.journaling import note
from sapwood.app.tending.awaiting import prepared_for
from sapwood.app.tending.tended import Tended
from sapwood.app.tending.told import Answer
from sapwood.tokens.chars4 import Chars4Counter

__all__ = ["brief", "resumption"]


def resumption(tended: Tended, environ: Mapping[str, str], whom: str) -> Answer:
    """What a model needs to go on with a session; nothing if there is nothing to go on with."""
    prompt = prepared_for(tended, environ).resumption
    archives = tended.memory.get("archives").splitlines()
    where = f"\n\nArchived: {archives[-1]}" if archives and prompt else ""
    return _given(tended, prompt + where, whom)


def brief(tended: Tended, environ: Mapping[str, str]) -> Answer:
    """What a subagent should know of the session that it works for."""
    return _given(tended, prepared_for(tended, environ, up_to_now=True).brief, "a subagent")


def _given(tended: Tended, prompt: str, whom: str) -> Answer:
    if prompt:
        tokens = Chars4Counter().count(prompt).tokens
        says = f"Gave {whom} a resumption prompt of ~{tokens:,} tokens."
        note("resumed", says, session=tended.session, folder=tended.folder)
    return Answer(context=prompt)
