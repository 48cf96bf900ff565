"""From a context to a request: system, pins, summary, carried request, turns."""

from msgspec import structs

from sapwood.core.commands import (
    AddPin,
    AddReply,
    Compact,
    CompleteTurn,
    Configure,
    FinishTool,
    ReadMail,
    Send,
)
from sapwood.core.content import Text, Thinking, ToolCall
from sapwood.core.settings import Settings, SettingsChange
from sapwood.core.view import Block, Message, ToolResult, view
from sapwood.core.view.build import front_texts
from sapwood.core.view.request import digest
from tests.core.speaking import conversation, does, opens, said


def test_an_empty_context_is_an_empty_request() -> None:
    world, agent = conversation()
    request = world.request(agent)
    assert (request.model, request.system, request.messages) == ("scripted", (), ())


def test_the_system_prompt_comes_first_then_pins_in_order() -> None:
    world, agent = conversation(settings=Settings("scripted", system="Be brief."))
    for name in ("b", "a"):
        does(world, AddPin(agent, name, f"pin {name}"))
    assert world.request(agent).system == (
        Block("system", "", "Be brief."),
        Block("pin", "b", "pin b"),
        Block("pin", "a", "pin a"),
    )


def test_a_blank_system_prompt_is_none() -> None:
    world, agent = conversation(settings=Settings("scripted", system=" \n"))
    assert world.request(agent).system == ()


def test_another_model_can_be_asked_the_same() -> None:
    world, agent = conversation(1)
    state, live = world.states[agent], world.lives[agent]
    other = view(state, live, "another")
    assert other.model == "another"
    assert other.messages == world.request(agent).messages


def test_an_instruction_comes_last() -> None:
    world, agent = conversation(1)
    state, live = world.states[agent], world.lives[agent]
    asked = view(state, live, instruction="Summarise.")
    assert asked.messages[:-1] == world.request(agent).messages
    assert asked.messages[-1] == Message("user", (Text("Summarise."),))


def test_summary_and_carried_request_share_the_first_message() -> None:
    world, agent = conversation(1)
    does(world, Compact(agent, "Numbers."))
    opens(world, agent, "ask 2")
    (message,) = world.request(agent).messages
    assert [part.text[:12] for part in message.parts if isinstance(part, Text)] == [
        "[Summary of ",
        "[The user's ",
        "ask 2",
    ]
    assert message.parts[:2] == front_texts(world.lives[agent])


def test_a_reply_without_words_is_left_out_and_replies_in_a_row_are_one_message() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    for text in ("one", " ", "two"):
        does(world, AddReply(agent, (Text(text),)))
    assert said(world, agent) == ["ask", "one\n\ntwo"]


def test_thinking_is_passed_on_for_the_provider_that_signed_it() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    thought = Thinking("hm", "anthropic", "sig")
    does(world, AddReply(agent, (thought, Text("answer"))))
    assert world.request(agent).messages[1].parts[0] == thought


def test_results_follow_their_calls_in_the_order_of_the_calls() -> None:
    world, agent = conversation()
    opens(world, agent, "ask")
    does(world, AddReply(agent, (ToolCall("1", "read"), ToolCall("2", "run"))))
    does(world, FinishTool(agent, "2", "ran", error=True))
    assert world.request(agent).messages[2] == Message(
        "user",
        (
            ToolResult("1", "read", "[no result yet]", error=True),
            ToolResult("2", "run", "ran", error=True),
        ),
    )


def test_a_blank_result_says_that_it_is_empty() -> None:
    world, agent = conversation()
    for call, content in (("1", ""), ("2", " \n")):
        opens(world, agent, "ask")
        does(world, AddReply(agent, (ToolCall(call, "read"),)))
        does(world, FinishTool(agent, call, content))
        does(world, CompleteTurn(agent))
    parts = [part for message in world.request(agent).messages for part in message.parts]
    shown = [part.content for part in parts if isinstance(part, ToolResult)]
    assert shown == ["[empty]", "[empty]"]


def test_the_earlier_request_is_a_prefix_of_the_later_one() -> None:
    world, agent = conversation(1)
    does(world, Compact(agent, "Numbers."))
    sent = list(world.request(agent).flat())
    opens(world, agent, "ask 2")
    does(world, AddReply(agent, (Text("Let me look."), ToolCall("1", "read"))))
    does(world, FinishTool(agent, "1", "found"))
    later = list(world.request(agent).flat())
    assert later[: len(sent)] == sent
    does(world, AddReply(agent, (Text("answer"),)))
    does(world, CompleteTurn(agent))
    opens(world, agent, "ask 3")
    assert list(world.request(agent).flat())[: len(later)] == later


def test_waiting_notes_are_in_no_request_before_a_prompt() -> None:
    world, agent = conversation(1)
    before = world.request(agent)
    does(world, Send(agent, "m1", "Look."))
    does(world, ReadMail(agent))
    assert world.request(agent) == before


def test_settings_show_at_once() -> None:
    world, agent = conversation(1)
    does(world, Configure(agent, SettingsChange(model="another", system="Be loud.")))
    request = world.request(agent)
    assert (request.model, request.system[0].text) == ("another", "Be loud.")


def test_messages_of_a_path_are_built_once_and_anew_when_it_grows() -> None:
    world, agent = conversation(2)
    first = view(world.states[agent], world.lives[agent])
    again = view(world.states[agent], world.lives[agent], "another-model")
    assert again.messages is first.messages
    assert digest(again) != digest(first)
    known = digest(first)
    world.turn(agent, "ask 3", "answer 3")
    longer = view(world.states[agent], world.lives[agent])
    assert longer.messages[: len(first.messages)] == first.messages
    assert len(longer.messages) == len(first.messages) + 2
    assert digest(longer) != known
    rebuilt = structs.replace(first, messages=(*first.messages,))
    assert digest(rebuilt) == known == digest(first)
