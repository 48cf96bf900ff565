"""Whether a command that hides its complaints did what it says.

`cat notes.md 2>/dev/null` looks the same whether the file is there or not. What it did is believed
where the exit code or the output proves it, and not otherwise.
"""

from collections.abc import Sequence

from sapwood.core.ledger.acts.folders import enters
from sapwood.core.ledger.acts.outcomes import Ended
from sapwood.core.ledger.acts.shell import Simple

__all__ = ["surely_read"]

_EMPTY = ("(Bash completed with no output)", "(no output)", "(no content)")
_SAYING = frozenset({"echo", "printf", "true", ":"})


def surely_read(commands: Sequence[Simple], place: int, how: Ended, files: int) -> bool:
    """Whether the command at this place of a line read all of so many files."""
    command, rest = commands[place], commands[place + 1 :]
    if not command.silent:
        return True
    if how.outcome == "ok" and all(each.before == "&&" for each in rest):
        return True
    alone = files == 1 and all(enters(each) for each in commands[:place])
    return alone and _is_shown(rest, how.output.strip())


def _is_shown(rest: Sequence[Simple], output: str) -> bool:
    """Whether the output is that of the file, and not what was said in its place."""
    if not output or output in _EMPTY:
        return False
    if all(each.before in ("|", "|&") for each in rest):
        return True
    [*pipe, last] = rest
    if last.before != "||" or not all(each.before in ("|", "|&") for each in pipe):
        return False
    texts = last.texts
    return texts[:1] != () and texts[0] in _SAYING and output != " ".join(texts[1:]).strip()
