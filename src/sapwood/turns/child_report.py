"""The report of a child: its parent gets the final answer as mail, once for each goal.

The report is sent just before the turn of the goal ends. A worker that dies in between sends it
again under the same id, so the parent gets it once.
"""

from sapwood.core.commands import Send
from sapwood.core.content import Note, Text
from sapwood.core.events import SYSTEM
from sapwood.core.excerpts import shortened
from sapwood.core.state import State
from sapwood.core.turn import Reply, Turn
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Dispatcher


async def report(dispatcher: Dispatcher, state: State, turn: Turn, failure: str = "") -> None:
    """Sends the answer of this turn to the parent, if the turn works on the goal of a child.

    `failure` is why the turn fails. A parent that can get no mail gets none.
    """
    if state.parent is None or not _has_goal(turn):
        return
    who = (
        f"Your child '{state.name}' ({state.agent})" if state.name else f"Your child {state.agent}"
    )
    if failure:
        text = f"{who} stopped without an answer: {failure}"
    else:
        text = f"{who} has finished. Its final answer:\n\n{_answer(turn)}"
    once = f"report:{state.agent}:{turn.first}"
    mail = Send(state.parent, once, text, sender=state.agent)
    await dispatcher.dispatch(mail, command_meta(SYSTEM, command=once, request=once))


def _has_goal(turn: Turn) -> bool:
    return any(isinstance(part, Note) and part.origin == "parent" for part in turn.prompt)


def _answer(turn: Turn) -> str:
    """The text of the last reply; a long one is cut, with a line on how to read it whole."""
    last = next((item for item in reversed(turn.items) if isinstance(item, Reply)), None)
    if last is None:
        return "(none)"
    text = "\n\n".join(part.text for part in last.parts if isinstance(part, Text))
    return shortened(text, f"{turn.agent}:{last.version}") or "(none)"
