"""The handlers of `/init` and `/review`: prompts that Sapwood has written.

The model does the work by its ordinary tools, within its permissions.
"""

from sapwood.conversation.answers import Changed, Prompted
from sapwood.conversation.call import Call
from sapwood.conversation.handlers.side_questions import ask_on_the_side
from sapwood.core.content import Text

_HERE = "--here"

_INIT = """Write the file AGENTS.md in the workspace: what an agent needs to know to work here, \
and nothing that it can see at a glance. Read the README, the build files, the CI files and a few \
source files first. Say in short sections how to set up, build, run the tests (all of them, and a \
single one), lint and format; how the source is organised; and the conventions that are not \
obvious. Take commands from files of the workspace, and invent none. Keep it under 100 lines. If \
there is an AGENTS.md or CLAUDE.md already, improve it and keep what still holds."""

_REVIEW = """Review the changes in the working tree that are not committed. Look at `git status` \
and `git diff HEAD` (new files too), and at the code around the changes. Report bugs, missing \
cases, security problems and missing tests, the most serious first, each with file and line, why \
it is a problem, and what to do. Leave out matters of taste. If there is nothing to report, say \
so. Change nothing."""


async def init(call: Call) -> Prompted:
    """Has the model write an AGENTS.md. Raises `RefusedError`."""
    return await call.open_turn((Text(_with(_INIT, call.run.args)),))


async def review(call: Call) -> Prompted | Changed:
    """Has the changes in the working tree reviewed, on the side or here. Raises `RefusedError`."""
    first, rest = call.first_and_rest
    if first == _HERE:
        return await call.open_turn((Text(_with(_REVIEW, rest)),))
    question = _with(_REVIEW, call.run.args)
    return await ask_on_the_side(call, question, shown=call.run.line, reads_only=False)


def _with(text: str, words: str) -> str:
    return f"{text}\n\nIn particular: {words}" if words else text
