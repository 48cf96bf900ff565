"""Delegation by a model: three children report by mail while their parent works.

Each child sends a letter of its own. Its final answer is a second one.
"""

import threading

from proofs.e2e.system_under_test import TIMEOUT, SystemUnderTest
from sapwood.core.content import ToolCall as RecordedCall
from scripted_model import ModelRequest, PartLike, ReplyLike, ToolCall, ToolResult, call

TASKS = {
    "OAUTH": "Research OAuth2. Report with send to parent.",
    "JWT": "Research JWT. Report with send to parent.",
    "COOKIES": "Research cookies. Report with send to parent.",
}
LETTERS = 2 * len(TASKS)
ASKED = "Have three approaches researched while you read the notes."


async def play(system: SystemUnderTest) -> None:
    """Runs the scene."""
    checks, team = system.checks, _Team()
    system.script(team.model)
    lead = await system.start("team lead")
    checks.same("the parent heard from all", await system.ask(lead, ASKED), "All three reported.")
    children = await system.children(lead)
    checks.many("there are three children", children, 3)
    await system.idle(*children)
    checks.that("all were with the model at once", team.met)
    for child, goal in zip(children, TASKS.values(), strict=True):
        messages = (await child.request()).messages
        text, _, note = messages[0].text.partition("\n")
        checks.same("a child is born with the text after the mark", text, goal)
        checks.within("and knows its parent", "Your parent is the agent 'team lead'", note)
        calls = [part for m in messages for part in m.parts if isinstance(part, RecordedCall)]
        checks.many("and without its parent's calls", calls, 1)
    names = {child.id for child in children}
    signed = [letter for letter in team.letters if any(name in letter for name in names)]
    checks.many("each letter names its sender", signed, LETTERS)
    reports = [letter for letter in team.letters if "\nReported." in letter]
    checks.many("the final answers came as mail", reports, len(TASKS))


class _Team:
    """The answers of the model, as the parent and as each child."""

    def __init__(self) -> None:
        self.met = False
        self.letters: list[str] = []
        self._meeting = threading.Barrier(4, lambda: setattr(self, "met", True))

    def model(self, asked: ModelRequest) -> ReplyLike:
        """Answers a request of any agent of the team."""
        return self._lead(asked) if asked.messages[0].text == ASKED else self._child(asked)

    def _child(self, asked: ModelRequest) -> ReplyLike:
        if asked.results:
            return "Reported."
        self._meeting.wait(TIMEOUT)
        goal = asked.messages[0].text.partition("\n")[0]
        return _slash("send", f"parent I read about it: {goal}")

    def _lead(self, asked: ModelRequest) -> ReplyLike:
        forks = _calls(asked, "fork")
        names = list(TASKS)
        if not asked.results:
            return _slash("mark", names[0])
        if len(forks) < len(TASKS):
            name = names[len(forks)]
            parts: list[PartLike] = [TASKS[name], _slash("fork", name)]
            return parts if name == names[-1] else [*parts, _slash("mark", names[len(forks) + 1])]
        last = asked.results[-1].content
        if last.startswith("Forked"):
            self._meeting.wait(TIMEOUT)  # it works while all of its children do
            return call("read_file", path="notes.txt")
        if last.startswith("Mail has arrived"):
            return _slash("check-mail")
        self.letters = [part for part in _results(asked) if "Mail from agent" in part]
        heard = sum(letter.count("Mail from agent") for letter in self.letters)
        self.letters = "\n".join(self.letters).split("[Mail from")[1:]
        return "All three reported." if heard == LETTERS else _slash("wait", "30")


def _slash(command: str, args: str = "") -> ToolCall:
    return call("slash", command=command, args=args)


def _calls(asked: ModelRequest, command: str) -> list[ToolCall]:
    parts = (part for message in asked.messages for part in message.parts)
    return [p for p in parts if isinstance(p, ToolCall) and f'"command":"{command}"' in p.args]


def _results(asked: ModelRequest) -> list[str]:
    parts = (part for message in asked.messages for part in message.parts)
    return [part.content for part in parts if isinstance(part, ToolResult)]
