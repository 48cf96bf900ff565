"""Reads the whole log and counts the faults."""

import sqlite3
from collections import defaultdict
from contextlib import closing

from proofs.crash.commands import AGENTS, shares_of, text_of
from sapwood.core.events import Recorded
from sapwood.core.ids import AgentId, CommandId, EventRef, Space
from sapwood.store.stores import StoreOptions, store_of
from sapwood.turns.log import Log

_PAGE = 5_000


class Findings:
    """The number of faults of each kind, and a sentence on the first few."""

    def __init__(self) -> None:
        self.lost = 0
        self.doubled = 0
        self.gaps = 0
        self.other = 0
        self.sentences: list[str] = []

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.gaps or self.other)

    def note(self, kind: str, sentence: str) -> None:
        """Counts a fault."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.sentences) < 10:
            self.sentences.append(f"{kind}: {sentence}")


async def check(address: str, space: Space, given: set[str], acknowledged: set[str]) -> Findings:
    """Compares the log with the submitted and the acknowledged commands."""
    found = Findings()
    log = await store_of(address).open(str(address), StoreOptions())
    try:
        written: dict[CommandId, dict[AgentId, list[Recorded]]] = defaultdict(dict)
        for agent in AGENTS:
            await _check_stream(log, space, agent, written, found)
        for command in acknowledged - written.keys():
            found.note("lost", f"{command} was acknowledged and is not there")
        for command in written.keys() - given:
            found.note("other", f"{command} was never submitted")
        for command, parts in written.items():
            await _check_command(log, space, command, parts, found)
        for command in given - written.keys():
            if await log.receipt(space, CommandId(command)):
                found.note("other", f"{command} has a receipt and no events")
    finally:
        await log.close()
    if "://" not in address:
        _check_file(address, found)
    return found


async def _check_stream(
    log: Log,
    space: Space,
    agent: AgentId,
    written: dict[CommandId, dict[AgentId, list[Recorded]]],
    found: Findings,
) -> None:
    version = 0
    while page := await log.read(space, agent, version + 1, limit=_PAGE):
        for recorded in page:
            if recorded.version != version + 1:
                found.note("gaps", f"{agent} jumps from {version} to {recorded.version}")
            version = recorded.version
            written[recorded.command].setdefault(agent, []).append(recorded)
    summary = await log.summary(space, agent)
    if (summary.version if summary else 0) != version:
        found.note("other", f"the list has {summary} where the log of {agent} ends at {version}")


async def _check_command(
    log: Log,
    space: Space,
    command: CommandId,
    parts: dict[AgentId, list[Recorded]],
    found: Findings,
) -> None:
    refs: list[EventRef] = []
    for share in shares_of(command):
        events = parts.pop(share.agent, [])
        refs += [event.ref for event in events]
        texts = tuple(text_of(event) for event in events)
        if len(texts) > len(share.texts):
            found.note("doubled", f"{command} is in {share.agent} more than once")
        elif len(texts) < len(share.texts):
            found.note("lost", f"{command} is not whole in {share.agent}")
        elif texts != share.texts:
            found.note("other", f"{command} wrote something else into {share.agent}")
    if parts:
        found.note("other", f"{command} is where it does not belong: {', '.join(parts)}")
    receipt = await log.receipt(space, command)
    if receipt is None or list(receipt.events) != refs:
        found.note("other", f"the receipt of {command} does not name its events")


def _check_file(address: str, found: Findings) -> None:
    with closing(sqlite3.connect(address)) as connection:
        for (sentence,) in connection.execute("PRAGMA integrity_check"):
            if sentence != "ok":
                found.note("other", f"integrity_check: {sentence}")
