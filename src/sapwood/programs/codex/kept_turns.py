"""Finds the turns of a Codex rollout again in a list of items that replaced the history.

Sapwood cuts a history to whole turns by giving their items again, after texts in the user's name.
Codex itself keeps the user's messages without the answers, so that its own compactions name none.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.programs.codex.contents import is_scaffolding, output_of, text_of
from sapwood.programs.codex.rows import Item
from sapwood.programs.transcripts.conversation_builder import ConversationBuilder

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


class KeptTurns(Struct, frozen=True):
    """The turns that a history was cut to, and the texts in front of them."""

    turns: tuple[int, ...] = ()
    front: tuple[str, ...] = ()


class TurnItems:
    """The items of every turn, as hashes that are valid within one process."""

    def __init__(self) -> None:
        self._hashes: dict[int, list[int]] = {}

    def add(self, turn: int, item: Item) -> None:
        """Adds an item of a turn; one that the program wrote by itself is left out."""
        if (identity := _identity(item)) is not None:
            self._hashes.setdefault(turn, []).append(identity)

    def remove_last(self, turn: int) -> None:
        """Removes the last item of a turn."""
        del self._hashes.get(turn, [])[-1:]

    def find(self, items: Sequence[Item], builder: ConversationBuilder) -> KeptTurns:
        """The turns that these items are, each of which follows the one before it.

        Nothing is found unless the items are whole turns after messages in the user's name.
        """
        known = [each for each in items if _identity(each) is not None]
        hashes = [_identity(each) for each in known]
        for last in sorted(self._hashes, reverse=True):
            end, turns = len(hashes), list[int]()
            turn = last
            while items_of := self._hashes.get(turn):
                if hashes[max(0, end - len(items_of)) : end] != items_of:
                    break
                end -= len(items_of)
                turns.insert(0, turn)
                turn = builder.parent_of(turn)
            if turns and all(each.is_users for each in known[:end]):
                return KeptTurns(tuple(turns), tuple(text_of(each.content) for each in known[:end]))
        return KeptTurns()


def _identity(item: Item) -> int | None:
    match item.type:
        case "message" if item.role in ("user", "assistant"):
            text = text_of(item.content)
            if item.role == "user" and (is_scaffolding(text) or not text.strip()):
                return None
            return hash((item.role, text))
        case kind if kind in _CALLS:
            command = tuple(item.action.command or ()) if item.action else ()
            return hash((item.call_id or item.id, item.name, item.arguments, item.input, command))
        case kind if kind in _OUTPUTS:
            return hash((item.call_id, *output_of(item)))
        case _:
            return None
