"""What an installation, or the end of one, is going to do: a value that can be shown first."""

from pathlib import Path

from msgspec import Struct

from sapwood.app.installing.edits import Edit

__all__ = ["Plan"]


class Plan(Struct, frozen=True):
    """Files of the plugin in folders that are ours, and the one file that is the user's.

    `notes` are what a person should know, `empty` folders that go with the last file in them.
    """

    files: tuple[Edit, ...]
    settings: Edit | None
    folders: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()
    empty: tuple[Path, ...] = ()

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All that changes."""
        return self.files if self.settings is None else (*self.files, self.settings)
