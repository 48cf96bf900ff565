"""Every command has a typed answer, with a sentence for people and a form for programs."""

import json
from typing import get_args, get_type_hints

import msgspec
import pytest

from sapwood.conversation.answers import (
    AgentTree,
    Answer,
    ArgumentNeeded,
    Changed,
    ContextsCompared,
    ContextShown,
    ConversationStarted,
    Forked,
    HelpShown,
    Left,
    MailRead,
    MailSent,
    MailShown,
    PassageShown,
    Prompted,
    PromptToEdit,
    RequestReplayed,
    SearchResults,
    SettingShown,
    SettingsShown,
    Switched,
    Waited,
)
from sapwood.conversation.script import CommandStep, parse
from sapwood.conversation.service import HANDLERS
from sapwood.core.command_table import TABLE
from sapwood.core.ids import AgentId
from sapwood.core.refusals import (
    BadArguments,
    ModelNeeded,
    NoConversation,
    NoPassage,
    NoSuchCall,
    Refusal,
    TurnIsOpen,
    TurnRenumbered,
    UnknownTurn,
)
from tests.conversation.spaces import service_of
from tests.turns.commanding import AGENT, Desk

ANSWERS: dict[str, type] = {
    "/mark A": Changed,
    "/clear": Changed,
    "/fork": Forked,
    "/send scout Look.": MailSent,
    "/check-mail": MailRead,
    "/check-mail --peek": MailShown,
    "/wait scout 1": Waited,
    "/recall heron": SearchResults,
    "/recall lead:2": PassageShown,
    "/recall": ArgumentNeeded,
    "/new": ConversationStarted,
    "/start": ConversationStarted,
    "/edit": PromptToEdit,
    "/rewind 1": Changed,
    "/agents": AgentTree,
    "/switch scout": Switched,
    "/switch": ArgumentNeeded,
    "/archive": Changed,
    "/context": ContextShown,
    "/pin rule Be brief.": Changed,
    "/replay": RequestReplayed,
    "/diff 1": ContextsCompared,
    "/recall #1": PassageShown,
    "/recall lead/1": PassageShown,
    "/model": SettingShown,
    "/system": SettingShown,
    "/config": SettingsShown,
    "/config cap 5000": Changed,
    "/help": HelpShown,
    "/exit": Left,
}


async def sent(desk: Desk, line: str, agent: AgentId | None = AGENT) -> Answer | Refusal:
    script = parse(line)
    assert isinstance(script, tuple), script
    [step] = script
    assert isinstance(step, CommandStep)
    return await service_of(desk).answer(agent, step)


@pytest.mark.parametrize("line", ANSWERS)
async def test_an_answer_has_a_type_a_sentence_and_a_form_for_programs(
    desk: Desk, line: str
) -> None:
    await desk.start()
    await desk.start(AgentId("scout"))
    await desk.turn("Where does the heron nest?", "In trees.")
    answer = await sent(desk, line)
    assert isinstance(answer, ANSWERS[line])
    assert not isinstance(answer, Refusal)
    assert answer.message or isinstance(answer, Left)
    assert json.loads(msgspec.json.encode(answer))["type"] == ANSWERS[line].__name__


@pytest.mark.parametrize("name", HANDLERS)
def test_a_handler_says_which_answers_it_gives(name: str) -> None:
    returned = get_type_hints(HANDLERS[name])["return"]
    assert set(get_args(returned) or (returned,)) <= set(get_args(Answer))


REFUSALS: dict[str, type[Refusal]] = {
    "/compact": ModelNeeded,
    "/replay 2": NoSuchCall,
    "/replay two": BadArguments,
    "/diff 99": UnknownTurn,
    "/diff 2": TurnRenumbered,
    "/recall #99": UnknownTurn,
    "/recall #1.1": NoPassage,
    "/recall #1:9999": NoPassage,
    "/diff": BadArguments,
    "/recall lead:99": NoPassage,
    "/recall lead:2:9999": NoPassage,
}


@pytest.mark.parametrize("line", REFUSALS)
async def test_what_cannot_be_done_is_refused_as_a_value(desk: Desk, line: str) -> None:
    await desk.start()
    await desk.turn("Where does the heron nest?", "In trees.")
    assert isinstance(await sent(desk, line), REFUSALS[line])


@pytest.mark.parametrize("name", [row.name for row in TABLE.rows if not row.during_turn])
async def test_what_waits_for_the_turn_is_refused_while_it_is_open(desk: Desk, name: str) -> None:
    await desk.start()
    await desk.prompt("Hello!")
    assert await sent(desk, f"/{name}") == TurnIsOpen(f"/{name}")


async def test_a_wait_ends_with_mail_idle_agents_or_its_time(desk: Desk) -> None:
    scout = AgentId("scout")
    await desk.start()
    await desk.start(scout)
    nobody = await sent(desk, "/wait")
    assert isinstance(nobody, Waited)
    assert nobody.reason == "nobody"
    idle = await sent(desk, "/wait scout")
    assert idle == Waited(AGENT, "idle", "Idle: scout.")
    await desk.prompt("Look.", scout)
    late = await sent(desk, "/wait scout 0.01")
    assert late == Waited(
        AGENT, "time", "No mail arrived within 0.01 seconds. Still working: scout."
    )
    await sent(desk, "/send lead Done.", scout)
    mail = await sent(desk, "/wait scout")
    assert mail == Waited(AGENT, "mail", "Mail has arrived: 1 unread. check-mail reads it.")


async def test_without_a_conversation_what_needs_one_is_refused(desk: Desk) -> None:
    assert await sent(desk, "/context", None) == NoConversation()
    assert isinstance(await sent(desk, "/agents", None), AgentTree)
    assert isinstance(await sent(desk, "/model", None), SettingShown)


async def test_a_person_outside_sends_mail_and_kills(desk: Desk) -> None:
    await desk.start()
    assert isinstance(await sent(desk, "/send lead Hello.", None), MailSent)
    assert (await desk.dispatcher.open(AGENT)).state.inbox[0].sender == ""
    await sent(desk, "/kill lead", None)
    assert (await desk.dispatcher.open(AGENT)).state.status == "killed"


async def test_a_prompt_says_where_its_turn_starts(desk: Desk) -> None:
    await desk.start()
    assert await service_of(desk).prompt(AGENT, "Hello!") == Prompted(AGENT, 2)
