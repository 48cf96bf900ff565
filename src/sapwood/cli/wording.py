"""Refusals for somebody at a shell, who cannot press esc and types `sapwood` before a command."""

from sapwood.core.refusals import NotRunning, Refusal, TurnIsOpen, UnknownAgent

__all__ = ["for_shell"]


def for_shell(refusal: Refusal) -> str:
    """The sentence, with what to type at a shell."""
    match refusal:
        case UnknownAgent(agent):
            return f"There is no agent '{agent}'. Type: sapwood agents --all"
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
