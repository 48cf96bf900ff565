"""`python -m proofs.crash_screen`: kills a screen that works on a goal, with prompts in its queue.

In each round a goal runs in the real screen in tmux. Prompts are queued, the model writes a to-do
list, and the screen is ended by SIGKILL at random moments and opened again, until the goal has
ended. Then the log is read: what the screen showed is there, and nothing ran twice.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from msgspec import Struct, field

from proofs.tui_tmux.program import Program
from proofs.tui_tmux.terminal import Failed, Terminal
from sapwood.app.connection import connect
from sapwood.core.events import GoalEnded, GoalSet, TurnStarted
from sapwood.core.state import State
from scripted_model import ModelRequest, ReplyLike, ScriptedModel, ToolResult, call

_TURNS = 6
"""The budget of a goal: its check never passes."""
_MAX_KILLS = 12
"""Kills in one round at most, so that every round ends."""
_PATIENCE = 120.0


class Findings(Struct):
    """What was counted, and what was wrong."""

    kills: int = 0
    turns: int = 0
    queued: int = 0
    wrong: list[str] = field(default_factory=list[str])


class Stored(Struct):
    """What the log has of the conversation."""

    state: State
    prompts: list[str]
    goals_set: int
    goals_ended: list[str]


class Round(Program):
    """One conversation with one goal, in a home of its own."""

    def run(self, dice: random.Random, findings: Findings, number: int) -> None:
        """Sets the goal, kills the screen until the goal has ended, and checks the log."""
        self._configure()
        self._show()
        terminal = self._terminal
        terminal.sees("Message, or / for commands")
        terminal.type(f'/goal Count the herons. --check "false" --budget {_TURNS}')
        terminal.sees("Count the herons.", "working")
        shown: list[str] = []
        for kill in range(_MAX_KILLS):
            time.sleep(dice.uniform(0.0, 1.5))
            if dice.random() < 0.4:
                shown += self._queued(f"Q{number}-{kill}.")
            time.sleep(dice.uniform(0.0, 1.0))
            terminal.kill()
            terminal.close()
            findings.kills += 1
            self._show()
            terminal.sees("Message, or / for commands")
            if self._stored().goals_ended:
                break
            terminal.type("/goal continue")
        self._check(self._at_rest(), shown, findings)
        terminal.close()

    def _show(self) -> None:
        command = (sys.executable, "-m", "sapwood.cli")
        self._start(*command, SAPWOOD_MODEL="claude-sonnet-5-5", ANTHROPIC_API_KEY="sk-for-tests")

    def _queued(self, prompt: str) -> list[str]:
        """Sends a prompt; returns it once the screen shows it as sent or as queued."""
        self._terminal.type(prompt)
        self._terminal.waits(
            lambda shown: prompt in shown and f"│ {prompt}" not in shown, f"to see {prompt} sent"
        )
        return [prompt]

    def _at_rest(self) -> Stored:
        """Waits until the goal has ended and nothing is queued or open."""
        end = time.monotonic() + _PATIENCE
        while True:
            stored = self._stored()
            if stored.goals_ended and not stored.state.queue and stored.state.open is None:
                return stored
            if time.monotonic() > end:
                raise Failed(f"the goal does not end; this is shown:\n{self._terminal.screen()}")
            time.sleep(0.3)

    def _stored(self) -> Stored:
        return asyncio.run(_read(self._folder / "data" / "sapwood" / "sapwood.db"))

    def _check(self, stored: Stored, shown: list[str], findings: Findings) -> None:
        times = Counter(stored.prompts)
        own = [each for each in stored.prompts if "goal" in each]
        findings.turns += len(stored.prompts)
        findings.queued += len(shown)
        findings.wrong += [
            f"{prompt} was shown as sent, and sent {times[prompt]} times"
            for prompt in shown
            if times[prompt] != 1
        ]
        if (stored.goals_set, stored.goals_ended) != (1, ["budget"]):
            findings.wrong.append(f"goals set {stored.goals_set}, ended {stored.goals_ended}")
        if len(own) != _TURNS:
            findings.wrong.append(f"{len(own)} turns of a goal with a budget of {_TURNS}")
        if [item.text for item in stored.state.todo] != ["Count the herons"]:
            findings.wrong.append(f"the to-do list is {stored.state.todo}")


async def _read(file: Path) -> Stored:
    connection = await connect(str(file))
    try:
        [listed] = await connection.log.agents(connection.space)
        agent = listed.agent
        found = [each.event for each in await connection.log.read(connection.space, agent)]
        state = (await connection.dispatcher.open(agent)).state
    finally:
        await connection.close()
    prompts = [
        " ".join(getattr(part, "text", "") for part in each.prompt)
        for each in found
        if isinstance(each, TurnStarted)
    ]
    ended = [each.reason for each in found if isinstance(each, GoalEnded)]
    return Stored(state, prompts, sum(isinstance(each, GoalSet) for each in found), ended)


def _answer(request: ModelRequest) -> ReplyLike:
    """A to-do list in each turn, then an answer of about a second."""
    if isinstance(request.messages[-1].parts[-1], ToolResult):
        return "Counted one more heron. " * 6
    return call("slash", command="todo", args="[~] Count the herons")


def main(arguments: list[str]) -> int:
    """Returns 1 if something was lost or ran twice."""
    parser = argparse.ArgumentParser(prog="python -m proofs.crash_screen", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    findings, dice, began = Findings(), random.Random(options.seed), time.monotonic()
    for number in range(options.rounds):
        folder, terminal = Path(tempfile.mkdtemp(prefix="sapwood-")), Terminal(110, 40)
        try:
            with ScriptedModel(delay=0.05) as server:
                server.script(_answer)
                Round(terminal, folder, server).run(dice, findings, number)
        except Failed as failure:
            findings.wrong.append(str(failure))
        finally:
            terminal.close()
            shutil.rmtree(folder, ignore_errors=True)
        print(f"  round {number + 1}: {findings.kills} kills so far", flush=True)
    for sentence in findings.wrong:
        print(sentence, file=sys.stderr)
    print(
        f"crash-screen: {options.rounds} goals, {findings.kills} kills, {findings.turns} turns, "
        f"{findings.queued} prompts queued; lost or doubled: {len(findings.wrong)}; "
        f"{time.monotonic() - began:.0f} s"
    )
    return int(bool(findings.wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
