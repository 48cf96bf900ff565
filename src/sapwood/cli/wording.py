"""Refusals for somebody at a shell, who cannot press esc and types `sapwood` before a command."""

from sapwood.core.refusals import (
    ModelNeeded,
    NoSuchCall,
    NotRunning,
    Refusal,
    TurnIsOpen,
    UnknownAgent,
)

__all__ = ["for_shell"]


def for_shell(refusal: Refusal) -> str:
    """The sentence, with what to type at a shell."""
    match refusal:
        case UnknownAgent(agent, close):
            instead = (
                f"Did you mean {' or '.join(close)}?" if close else "Type: sapwood agents --all"
            )
            return f"There is no agent '{agent[:60]}'. {instead}"
        case ModelNeeded(command, agent):
            return f"A model has to answer {command}. Type: sapwood {command[1:]} {agent}"
        case NoSuchCall(agent, version):
            return (
                f"Version {version} of {agent} is no model call. "
                f"Type: sapwood replay {agent} --calls"
            )
        case TurnIsOpen(command):
            return (
                f"{command} has to wait: a turn is open. Wait for it to end, go on with it by "
                "'sapwood run --agent AGENT', or stop it by 'sapwood interrupt AGENT'."
            )
        case NotRunning(agent, status):
            return (
                f"Agent '{agent}' is {status}. Its log can be read; "
                f"to go on, type: sapwood fork {agent}"
            )
        case _:
            return refusal.sentence
