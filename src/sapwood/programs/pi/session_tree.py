"""The tree of a pi session, and what the model sees at one of its entries. Pure: it does no I/O.

The last row of the file is the leaf. The model gets the path from the root to the leaf: from the
last compaction on, and without the entries that later entries of the path take out.
"""

from collections.abc import Sequence

from msgspec import Struct

from sapwood.programs.pi.rows import WRITER, PiRow, is_omission

SPOKEN = frozenset({"user", "assistant", "toolResult"})
_OTHER_TEXTS = frozenset({"custom_message", "branch_summary"})


class SessionEntry(Struct, frozen=True, gc=False):
    """An entry: what decides about the view, and where its row is in the file.

    `source` is the entry that it is a copy of, else its own id. `turn` is the id that Sapwood gave
    to the turn whose prompt follows. `is_ours`: Sapwood wrote this
    compaction, or this edit that gives an entry its own content back.
    """

    id: str
    parent: str | None
    type: str
    role: str = ""
    source: str = ""
    target: str = ""
    omits: bool = False
    first_kept: str = ""
    summary: str = ""
    is_ours: bool = False
    turn: str = ""
    start: int = 0
    end: int = 0

    @property
    def is_text(self) -> bool:
        """Whether it adds something to a request, apart from the system prompt."""
        return self.role not in ("", "system") or self.type in _OTHER_TEXTS

    @property
    def is_spoken(self) -> bool:
        """Whether it is a prompt, a reply or a result."""
        return self.role in SPOKEN


def entry_of(
    row: PiRow, key: str, parent: str | None, start: int = 0, end: int = 0
) -> SessionEntry:
    """The entry of a decoded row."""
    return SessionEntry(
        key,
        parent,
        row.type or "",
        row.role,
        row.copy_of or key,
        row.target_id or "",
        row.type == "context_edit" and is_omission(row),
        row.first_kept_entry_id or "",
        (row.summary or "") if row.type == "compaction" else "",
        row.written_by == WRITER,
        (row.data and row.data.turn) or "",
        start,
        end,
    )


class View(Struct, frozen=True):
    """What the model sees at an entry.

    `compaction` is the entry whose summary comes first, None if there is none; `texts` are the
    entries with text behind it, and `edits` the last edit of each entry that has one.
    """

    compaction: SessionEntry | None
    texts: Sequence[SessionEntry]
    edits: dict[str, SessionEntry]

    def shows(self, entry: SessionEntry) -> bool:
        """Whether an entry of `texts` is in the view, unchanged."""
        edit = self.edits.get(entry.id)
        return edit is None or (edit.is_ours and not edit.omits)

    @property
    def seen(self) -> list[SessionEntry]:
        """The entries in view; replaced ones count."""
        return [
            each for each in self.texts if not (edit := self.edits.get(each.id)) or not edit.omits
        ]


class SessionTree:
    """The entries of one file in their order. `leaf` is the last one, empty before the first."""

    def __init__(self) -> None:
        self.entries: dict[str, SessionEntry] = {}
        self.leaf = ""

    def add(self, entry: SessionEntry) -> None:
        """Adds an entry, which is the leaf now."""
        self.entries[entry.id] = entry
        self.leaf = entry.id

    def path_of(self, leaf: str | None) -> list[SessionEntry]:
        """The entries from the root to this one. Damaged files may have circles."""
        found: dict[str, SessionEntry] = {}
        while leaf and leaf not in found and (entry := self.entries.get(leaf)) is not None:
            found[leaf] = entry
            leaf = entry.parent
        return list(found.values())[::-1]

    def view(self, leaf: str | None) -> View:
        """What the model sees at this entry."""
        return view_of(self.path_of(leaf))


def view_of(path: Sequence[SessionEntry]) -> View:
    """What the model sees at the end of a path."""
    places = [place for place, entry in enumerate(path) if entry.type == "compaction"]
    compaction = path[places[-1]] if places else None
    chosen = path
    if compaction is not None:
        ids = [entry.id for entry in path[: places[-1]]]
        kept = ids.index(compaction.first_kept) if compaction.first_kept in ids else len(ids)
        chosen = [*path[kept : places[-1]], *path[places[-1] + 1 :]]
    edits = {entry.target: entry for entry in chosen if entry.type == "context_edit"}
    return View(compaction, [entry for entry in chosen if entry.is_text], edits)
