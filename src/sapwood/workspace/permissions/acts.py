"""What a tool is about to do, as the rules see it. Pure."""

from msgspec import Struct

__all__ = ["Act", "FileAct", "PlainAct", "ShellAct"]


class FileAct(Struct, frozen=True):
    """Reading or writing at a path: relative if it is in the workspace, else absolute.

    `kin` is the tool whose rules hold for this one too: who may write a file may edit it.
    """

    tool: str
    path: str
    reads: bool
    kin: str = ""

    @property
    def is_outside(self) -> bool:
        return self.path.startswith("/")


class ShellAct(Struct, frozen=True):
    """Running a command line."""

    tool: str
    command: str


class PlainAct(Struct, frozen=True):
    """Any other call, of which the rules see only the tool."""

    tool: str
    reads: bool = False


Act = FileAct | ShellAct | PlainAct
