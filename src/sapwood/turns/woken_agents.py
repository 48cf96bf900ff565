"""Which agents an engine has to drive after events were stored."""

from sapwood.core.events import (
    AgentKilled,
    MailReceived,
    QuestionAnswered,
    ToolFinished,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnStarted,
)
from sapwood.core.ids import AgentId
from sapwood.core.log_values import Append

_GIVES_WORK = (TurnStarted, MailReceived, QuestionAnswered)
_ENDS = (TurnCompleted, TurnFailed, TurnInterrupted, AgentKilled)


def woken_by(append: Append) -> set[AgentId]:
    """Returns the agents that have to be driven after these events.

    An agent that got a prompt, an agent with an open turn that got mail, an answer to a question or
    the result of a tool that whoever gave the prompt runs, and the parent of an agent whose turn
    ended.
    """
    woken: set[AgentId] = set()
    for recorded in append.events:
        event = recorded.event
        if isinstance(event, TurnStarted) and event.lease is not None:
            continue  # the program that started the turn runs it
        if isinstance(event, ToolFinished):
            if recorded.actor.role == "human" and append.facts.working:
                woken.add(append.agent)
        elif isinstance(event, _GIVES_WORK) and append.facts.working:
            woken.add(append.agent)
        elif isinstance(event, _ENDS) and append.facts.parent is not None:
            woken.add(append.facts.parent)
    return woken
