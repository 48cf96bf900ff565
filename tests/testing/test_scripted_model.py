"""The scripted model recognises the texts with which Sapwood compacts a conversation.

Its types can be read where they are used.
"""

import pydoc

import scripted_model
from sapwood.core.content import Text
from sapwood.core.view.frames import framed_request
from sapwood.turns.compaction import INSTRUCTION
from scripted_model.conversation import Message
from scripted_model.conversation import Text as ScriptedText
from scripted_model.prompt_script import find_position
from scripted_model.reply_selector import SUMMARY, is_summary_request


def test_a_script_in_a_request_that_a_summary_carries_is_not_played_again() -> None:
    carried = framed_request((Text("[[say: one]] [[say: two]]"),))
    messages = (Message("user", (ScriptedText(carried.text), ScriptedText("go on"))),)
    assert find_position(messages, SUMMARY) is None


def test_the_instruction_to_summarise_is_recognised() -> None:
    assert is_summary_request(INSTRUCTION)


def test_help_shows_the_package() -> None:
    assert "class ScriptedModel" in pydoc.plain(pydoc.render_doc(scripted_model))
