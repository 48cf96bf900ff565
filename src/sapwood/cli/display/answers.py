"""The answers of the conversation service as lines for a terminal."""

from typing import assert_never

from sapwood.cli.display.agents import agents_table
from sapwood.cli.display.context import context_lines
from sapwood.cli.display.hits import hit_lines
from sapwood.cli.display.request import request_lines
from sapwood.conversation.answers import (
    AgentsKilled,
    AgentTree,
    Answer,
    ArgumentNeeded,
    Changed,
    Compacted,
    ContextsCompared,
    ContextShown,
    ConversationStarted,
    FilesReverted,
    Forked,
    HelpShown,
    Left,
    MailRead,
    MailSent,
    MailShown,
    PassageShown,
    Prompted,
    RequestReplayed,
    SearchResults,
    SettingShown,
    SettingsShown,
    StillWaiting,
    Switched,
    Waited,
)
from sapwood.display.comparison import comparison_lines

__all__ = ["answer_text"]


def answer_text(answer: Answer, width: int, now: int) -> str:
    """What a terminal of this width shows of an answer at this time."""
    match answer:
        case AgentTree(agents):
            return "\n".join(agents_table(agents, width, now))
        case ContextShown(breakdown):
            return "\n".join(context_lines(breakdown, width))
        case SearchResults(hits=hits):
            return "\n".join(hit_lines(hits, width))
        case RequestReplayed(replayed=replayed):
            shown = [*request_lines(replayed.request), ""] if replayed else []
            return "\n".join([*shown, answer.message])
        case ContextsCompared():
            return "\n".join(comparison_lines(answer, width))
        case (
            Prompted()
            | Changed()
            | Forked()
            | ConversationStarted()
            | Switched()
            | MailSent()
            | MailRead()
            | MailShown()
            | Waited()
            | StillWaiting()
            | AgentsKilled()
            | Compacted()
            | PassageShown()
            | FilesReverted()
            | SettingShown()
            | SettingsShown()
            | HelpShown()
            | ArgumentNeeded()
            | Left()
        ):
            return answer.message
        case _:
            assert_never(answer)
