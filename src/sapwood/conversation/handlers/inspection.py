"""Handlers of commands that show something and change nothing."""

import re

from msgspec import structs

from sapwood.conversation import answers
from sapwood.conversation.agent_lookup import find_turn, find_turns, names_in
from sapwood.conversation.call import Call, OpenSpace
from sapwood.conversation.context_breakdown import break_down
from sapwood.conversation.turn_search import search_turns
from sapwood.core import refusals
from sapwood.core.command_table import HELP_DETAILS, HELP_TOPICS, TABLE, SlashCommand
from sapwood.core.context_diff import diff
from sapwood.core.errors import RefusedError
from sapwood.core.event_texts import event_texts
from sapwood.core.ids import AgentId, EventRef
from sapwood.core.live_path import LivePath
from sapwood.core.turn import excerpt, turn_text
from sapwood.core.turn_numbers import means_turn, parse_place, result_of
from sapwood.turns.context_before_turn import context_before
from sapwood.turns.open_agent import OpenAgent, read_live
from sapwood.turns.replay import last_call
from sapwood.turns.replay import replay as replay_call
from sapwood.turns.turn_lookup import names_of, whole_turn

_PLACE = re.compile(r"(?P<agent>[\w.-]+):(?P<version>[0-9]{1,18})(?::(?P<first>[0-9]{1,18}))?")
_TURN = re.compile(r"(?P<place>#[^:]+|.+/[^:]+)(?::(?P<first>[0-9]{1,18}))?")
_HITS, _HITS_FOR_MODELS = 10, 8


async def context(call: Call) -> answers.ContextShown:
    """Shows what fills the window."""
    opened = await call.opened()
    counter = call.space.counter_for(opened.state.settings.model)
    names = await names_in(call.space, opened)
    return answers.ContextShown(break_down(opened.state, opened.live, counter, names))


async def recall(
    call: Call,
) -> answers.SearchResults | answers.PassageShown | answers.ArgumentNeeded:
    """Searches everything said, or shows the text at one place.

    A model searches what it, its ancestors and its descendants said.
    """
    query = call.run.args.strip()
    if not query:
        command = call.run.command
        message = call.misused("What should I search for?").refusal.sentence
        return answers.ArgumentNeeded(command.name, command.arguments[0], message)
    space = call.space
    own = await _family(space, call.agent) if call.by_model else None
    place = _PLACE.fullmatch(query)
    if place and await _is_readable(space, AgentId(place["agent"]), own):
        at = EventRef(AgentId(place["agent"]), int(place["version"]))
        return await _passage(space, at, int(place["first"] or 0))
    if (turn := _TURN.fullmatch(query)) and parse_place(turn["place"]):
        return await _turn_passage(call, turn["place"], int(turn["first"] or 0), own)
    limit = _HITS_FOR_MODELS if call.by_model else _HITS
    hits = await search_turns(space, query, agents=own, limit=limit, shown=call.agent)
    return answers.SearchResults(query, tuple(hits))


async def _turn_passage(
    call: Call, typed: str, first: int, own: list[AgentId] | None
) -> answers.PassageShown:
    """The text of a turn, such as `#3`, or of one of its tool results, such as `#4.2`."""
    space, place = call.space, parse_place(typed)
    state = (await call.opened()).state
    whole = str(structs.replace(place, result=0)) if place else typed
    starts = await find_turns(space, state, whole)
    start = starts[0]
    if len(starts) > 1 or (own is not None and start.agent not in own):
        raise RefusedError(refusals.NoPassage(typed))
    turn = await whole_turn(space.log, space.space, start.agent, start.first)
    result = result_of(turn, place.result) if place and place.result else None
    if place and place.result and result is None:
        raise RefusedError(refusals.NoPassage(typed))
    text = result.content if result else turn_text(turn, lambda each: each.content)
    shown = excerpt(text, typed, first)
    if not shown:
        raise RefusedError(refusals.NoPassage(typed, first))
    return answers.PassageShown(start.ref, shown)


async def replay(call: Call) -> answers.RequestReplayed:
    """Shows what the model saw at a call, or at the last one."""
    if call.run.args and not call.run.args.isdecimal():
        raise call.misused("Give the call's version in the log.")
    version = int(call.run.args[:18]) if call.run.args else None
    return await replayed(call.space, call.agent, version)


async def replayed(
    space: OpenSpace, agent: AgentId, version: int | None = None
) -> answers.RequestReplayed:
    """The request of the model call at a version, by default of the last one.

    For a conversation that was imported from Claude Code, the version is the number of the request.
    Raises `RefusedError` where there is no call at that version.
    """
    from sapwood.conversation.imported_requests import imported_replay

    if imported := await imported_replay(space, agent, version):
        return answers.RequestReplayed(agent, imported, version)
    at = await last_call(space.log, space.space, agent) if version is None else version
    if at is None:
        return answers.RequestReplayed(agent, None, version)
    seen = await replay_call(space.log, space.space, agent, at)
    if seen is None:
        raise RefusedError(refusals.NoSuchCall(agent, at))
    return answers.RequestReplayed(agent, seen, version)


async def diff_(call: Call) -> answers.ContextsCompared:
    """Compares two contexts, or one with the present one."""
    if not 1 <= len(call.words) <= 2:
        raise call.misused("One place, or two, please.")
    return await compare(call.space, call.agent, *call.words)


async def compare(
    space: OpenSpace, agent: AgentId, left: str, right: str | None = None
) -> answers.ContextsCompared:
    """The difference between two contexts, or between one and now.

    Each is that of a mark, or as it was just before a turn.
    """
    opened = await space.dispatcher.open(agent)
    one = await _live_at(space, opened, left)
    other = opened.live if right is None else await _live_at(space, opened, right)
    found = diff(one, other)
    agents = {turn.agent for turn in (*found.only_left, *found.only_right)}
    names = await names_of(space.log, space.space, agent, agents)
    return answers.ContextsCompared(left, right or "now", found, names)


async def help_(call: Call) -> answers.HelpShown:
    """Lists the commands, or explains one, or a topic that is no command."""
    word = call.run.args.removeprefix("/")
    if not word:
        return answers.HelpShown(tuple(_help_on(row) for row in TABLE.rows))
    row = TABLE.get(word)
    if row is None and (topic := HELP_TOPICS.get(word.casefold())):
        return answers.HelpShown((answers.CommandHelp(word, word, topic),))
    if row is None:
        known = (*TABLE.names, *HELP_TOPICS)
        raise RefusedError(refusals.UnknownCommand(f"/{word}", refusals.nearest(word, known)))
    found = _help_on(row)
    if row.name in HELP_DETAILS:
        found = structs.replace(found, help=f"{found.help}. {HELP_DETAILS[row.name]}")
    return answers.HelpShown((found,))


async def exit_(call: Call) -> answers.Left:
    """Leaves."""
    return answers.Left()


def _help_on(row: SlashCommand) -> answers.CommandHelp:
    return answers.CommandHelp(
        row.name, row.line, row.help, row.aliases, row.who == "both", row.during_turn
    )


async def _live_at(space: OpenSpace, opened: OpenAgent, place: str) -> LivePath:
    state = opened.state
    if means_turn(place):
        turn, _ = await find_turn(space, opened, place)
        before = await context_before(space.log, space.space, opened, turn)
        return await read_live(space.log, space.space, state, context=before)
    for mark in reversed(state.marks):
        if mark.name == place:
            return await read_live(space.log, space.space, state, context=mark.context)
    names = tuple(mark.name for mark in state.marks if mark.name)
    raise RefusedError(refusals.UnknownMark(place, refusals.nearest(place, names), names))


async def _family(space: OpenSpace, agent: AgentId) -> list[AgentId]:
    below = await space.log.descendants(space.space, agent)
    return [agent, *below, *await space.log.ancestors(space.space, agent)]


async def _is_readable(space: OpenSpace, agent: AgentId, own: list[AgentId] | None) -> bool:
    if own is not None:
        return agent in own
    return await space.log.summary(space.space, agent) is not None


async def _passage(space: OpenSpace, at: EventRef, first: int) -> answers.PassageShown:
    """The text at a place, from a character on; a long one takes several calls."""
    found = await space.log.read(space.space, at.agent, at.version, at.version)
    text = event_texts(found[0].event).search if found else ""
    shown = excerpt(text, str(at), first)
    if not shown:
        raise RefusedError(refusals.NoPassage(str(at), first))
    return answers.PassageShown(at, shown)
