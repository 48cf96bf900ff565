"""Every command can be typed on the screen, and every command has a test."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sapwood.api import Agent, Sapwood
from sapwood.app.connection import connect
from sapwood.conversation.completion import KnownNames, choices
from sapwood.core.command_table import TABLE
from sapwood.core.commands import EndJob, FailTurn, SetGoal, StartJob, StartTurn
from sapwood.core.content import Text
from sapwood.core.events import SYSTEM
from sapwood.core.ids import AgentId
from sapwood.core.lease import Lease
from sapwood.display.quantities import money
from sapwood.programs.registry import programs_with
from sapwood.tui.composer import CompletionPopup, Composer
from sapwood.turns.clock_and_ids import command_meta, now
from sapwood.workspace.process_identity import process_identity
from scripted_model import Reply, call, fail
from tests.tui.stage import MODEL, Stage, on_stage, until

Check = Callable[[Stage], Awaitable[None]]


def typed(line: str, *words: str) -> Check:
    """What is seen after a line was typed."""

    async def check(stage: Stage) -> None:
        command = TABLE[line.removeprefix("/").split()[0]]
        await (stage.confirm(line) if command.confirm else stage.type(line))
        for word in words:
            await stage.sees(word)

    return check


async def goes_on_fresh(stage: Stage) -> None:
    before = stage.app.controller.agent
    await stage.type("/new")
    await until(lambda: stage.app.controller.agent != before)


async def starts_beside(stage: Stage) -> None:
    before = stage.app.controller.agent
    await stage.type("/start")
    await until(lambda: stage.app.controller.agent not in (None, before))


async def edits(stage: Stage) -> None:
    state = await stage.app.controller.state()
    assert state is not None
    await stage.type("/edit")
    await stage.sees("─  Edit  ─")
    await stage.pilot.press("escape")
    await stage.type(f"/edit {state.turns}")
    await stage.sees(f"Change the prompt of turn {state.turns} and send it.")
    await stage.sees(f"Rewound to just before turn {state.turns}.")
    await until(lambda: bool(stage.app.screen.query_one(Composer).text))


async def retries(stage: Stage) -> None:
    stage.server.script(lambda _: fail(400))
    await stage.type("/retry")
    await stage.sees("The turn failed. To ask again, type: /retry")
    steps = iter([fail(429, retry_after=2), Reply.of("On chimneys.")])
    stage.server.script(lambda _: next(steps))
    await stage.type("/retry")
    await stage.sees("the provider is busy, attempt 2 of 5 in 2 s · esc stops it")
    await stage.sees("On chimneys.")
    assert "the provider is busy" not in stage.screen()
    assert "On roofs." not in stage.screen()
    agent = stage.app.controller.agent
    assert agent is not None
    stage.server.script(lambda _: Reply.of("In reeds."))
    dispatch = stage.app.controller.connection.dispatcher.dispatch
    for seconds in (600, 1):
        again = now() + seconds * 1_000_000
        held = Lease("elsewhere", again)
        await dispatch(StartTurn(agent, (Text("And grebes?"),), lease=held), command_meta())
        failed = FailTurn(agent, "Limited.", failure="overloaded", retry_at=again)
        await dispatch(failed, command_meta(holder="elsewhere"))
        await stage.sees("limit resets at")
        if seconds == 600:
            asked = len(stage.server.requests)
            await stage.type("And coots?")
            await stage.sees("» queued: And coots?")
            await stage.sees("(waits for the limit; a new message goes after it)")
            await stage.conversation.open(agent)  # as after a restart
            await stage.sees("limit resets at")
            assert len(stage.server.requests) == asked
            await stage.pilot.press("escape")
            await stage.sees("It is not asked again.")
            await stage.pilot.press("up")
            await until(lambda: stage.conversation.composer.text == "And coots?")
            stage.conversation.composer.text = ""
            continue
        await stage.type("And coots?")
    await stage.sees("In reeds.")
    await until(lambda: "And coots?" in str(stage.server.requests[-1].body))
    assert "And grebes?" in str(stage.server.requests[-1].body)
    await until(lambda: "limit resets at" not in stage.screen())


async def helps(stage: Stage) -> None:
    await stage.type("/help mark")
    await stage.sees("Bookmark this point")
    await stage.pilot.press("escape")
    await stage.type("/help goal")
    await stage.sees("--budget 3 is turns, 200k tokens and $2 money")
    await stage.pilot.press("escape")
    await stage.type("/help hooks")
    await stage.sees("Exit code 2 blocks.")


async def switches(stage: Stage) -> None:
    await stage.type("/switch child")
    await until(lambda: stage.app.controller.agent not in (None, "everytalk"))
    await stage.sees("Where do herons nest?")


async def leaves(stage: Stage) -> None:
    await stage.type("/exit")
    await until(lambda: not stage.app.is_running)


async def undoes(stage: Stage) -> None:
    await stage.type("/clear")
    await stage.sees("4 messages pruned")
    await stage.type("/undo")
    await stage.sees("Undone")
    await until(lambda: "pruned" not in stage.text(), shown=stage.text)


async def compacts(stage: Stage) -> None:
    stage.server.replies(["Herons nest in tall trees, storks on roofs."])
    await stage.type("/compact")
    await stage.sees("Summary of 4 messages · check 100%")


async def forks(stage: Stage) -> None:
    stage.server.replies(["Twigs, mostly."])
    await stage.type("/fork -- What are nests made of?")
    await stage.sees("Forked. Child:")


async def runs_shell(stage: Stage) -> None:
    """By `!`, without a model call; `!!` stays out of the context, and ctrl+c ends it."""
    asked = len(stage.server.requests)
    await stage.type("/shell echo one; seq 8; exit 3")
    await stage.sees("▸ 7 lines above")
    assert "[exit status 3]" in stage.text()  # a failed command shows its end
    await stage.type("!!echo unseen")
    await stage.sees("● !! echo unseen")
    await stage.type("!echo beg''un; sleep 600")
    await stage.sees("● ! echo beg''un; sleep 600")
    await stage.sees("begun")
    assert "running …" in stage.text()
    await stage.pilot.press("ctrl+c")
    await stage.sees("[stopped by the user]")
    assert len(stage.server.requests) == asked
    stage.server.replies(["It printed one."])
    await stage.type("What did it print?")
    await stage.sees("It printed one.")
    sent = str(stage.server.requests[-1])
    assert "the user ran 'echo one; seq 8; exit 3'" in sent
    assert "unseen" not in sent
    assert stage.text().count("exit status 3") == 1


async def accepts(stage: Stage) -> None:
    """After the key has gone round to plan mode. The plan is pinned and carried out."""
    for mode in ("accept-edits", "plan"):
        await stage.pilot.press("shift+tab")
        await stage.sees(f"The permission mode is {mode}.")
    await stage.type("/accept-plan now")
    await stage.sees("There is no permission mode 'now'")
    stage.server.replies(["1. Count the nests."])
    await stage.type("Plan the count.")
    await stage.sees("Carry this plan out: /accept-plan")
    assert "The permission mode is plan" in str(stage.server.requests[-1].body)
    stage.server.replies(["Three nests."])
    await stage.type("/accept-plan accept-edits")
    await stage.sees("Three nests.")
    sent = str(stage.server.requests[-1].body)
    assert "I accept the plan. Carry it out." in sent
    assert sent.count("1. Count the nests.") == 2  # the pin, and the answer
    assert stage.conversation.mode == "accept-edits"
    await stage.type("/accept-plan")
    await stage.sees("There is no plan to accept.")


async def lists_jobs(stage: Stage) -> None:
    """A background command has a row when it starts and when it ends, and a person can end it."""
    controller = stage.conversation.controller
    assert controller.agent is not None
    started = StartJob(controller.agent, "sleep 600", "c1", process_identity())
    await controller.connection.dispatcher.dispatch(started, command_meta(SYSTEM))
    await stage.sees("Job 1 runs in the background: sleep 600")
    await stage.sees("1 job: /jobs")
    await stage.type("/jobs")
    await stage.sees("1  running  sleep 600")
    await stage.pilot.press("ctrl+c")
    await stage.sees("Everything is saved. 1 job ends with it.")
    line = "seq 9; sleep 60"
    started = StartJob(controller.agent, line, "c2", process_identity())
    await controller.connection.dispatcher.dispatch(started, command_meta(SYSTEM))
    printed = "\n".join(f"tree {number}" for number in range(1, 10))
    ended = EndJob(controller.agent, 2, "exit 0", printed)
    await controller.connection.dispatcher.dispatch(ended, command_meta(SYSTEM))
    await stage.type("/jobs 2")
    await stage.sees("lines above: f7 shows all")
    assert "tree 9" in stage.screen()
    assert "tree 1\n" not in stage.screen()
    await stage.type("/jobs end 1")
    await stage.sees("Job 1 in the background: ended by the user")
    await until(lambda: "1 job: /jobs" not in stage.screen(), shown=stage.screen)


async def lists_todos(stage: Stage) -> None:
    """The model writes the list by its tool; the line goes when all of it is done."""
    items = "- [x] Find nests\n- [~] Count eggs\n3. Write it down"
    stage.server.replies([call("slash", command="todo", args=items), "Counting."])
    await stage.type("Count the eggs.")
    await stage.sees("to do 1 of 3  ✓ ◐ ○  Count eggs")
    await stage.type("/todo")
    await stage.sees("[ ] Write it down")
    await stage.type("/todo [x] All")
    await until(lambda: "to do 1 of 3" not in stage.screen(), shown=stage.screen)


def write_command(folder: Path) -> None:
    folder.mkdir()
    text = "---\ndescription: Count\n---\nCount $1."
    (folder / "tally.md").write_text(text, encoding="utf-8")


async def uses_custom_commands(stage: Stage) -> None:
    """One of the home is listed with its source, completed, and sent as a prompt."""
    with TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_CONFIG_DIR", home)
        write_command(Path(home, "commands"))
        await stage.type("/use")
        await stage.sees("/tally  Count  (command,")
        await stage.pilot.press(*"/tal")
        await stage.sees("/tally")
        await stage.pilot.press("tab", *"nests")
        stage.server.replies(["Three nests."])
        await stage.pilot.press("enter")
        await stage.sees("Three nests.")
    assert "Count nests." in str(stage.server.requests[-1].body)


async def asks_on_the_side(stage: Stage) -> None:
    """The answer is a row; only /bring brings it into a request."""
    stage.server.replies(["At dusk."])
    await stage.type("/btw When do herons fish?")
    await stage.sees("At dusk.")
    summary = await stage.app.controller.connection.dispatcher.account(AgentId("everytalk"))
    await stage.sees(money(summary.cost))
    state = await stage.app.controller.state()
    assert state is not None
    assert summary.cost > state.spent.cost
    asked = str(stage.server.requests[-1].body)
    assert "on the side" in asked
    assert "In tall trees." in asked
    await stage.sees("type: /bring")
    load = re.search(r"/bring \S+", stage.screen())
    assert load is not None
    stage.server.replies(["On roofs.", "In reeds."])
    await stage.type("And swans?")
    await stage.sees("On roofs.")
    assert "herons fish" not in str(stage.server.requests[-1].body)
    await stage.type(load[0])
    await stage.type("And ducks?")
    await stage.sees("In reeds.")
    assert "At dusk." in str(stage.server.requests[-1].body)


async def works_on_a_goal(stage: Stage) -> None:
    """Until the check passes. The end says which turns can leave view."""
    with TemporaryDirectory() as folder:
        stage.server.replies(["Not yet.", "Still not.", "Now."])
        check = f"echo >> {folder}/tries; wc -l < {folder}/tries | grep 3"
        await stage.type(f"/goal Count to three. --budget 5 --check {check}")
        await stage.sees("The goal is reached. It took 3 turns.")
    await stage.sees("/drop 3-4")
    assert "┃ goal  #5" in stage.screen()
    assert stage.screen().count("The goal is reached.") == 1
    sent = str(stage.server.requests[-1].body)
    assert "Count to three." in sent
    assert "failed. Continue." in sent
    assert len(stage.server.requests) == 3
    await stage.type("/goal")
    await stage.sees("The goal is reached: its check passed. It was: Count to three.")
    agent = stage.app.controller.agent
    assert agent is not None
    stage.server.replies(["Four.\n\nGOAL REACHED"])
    elsewhere = SetGoal(agent, "elsewhere", "Count to four.", turns=2)
    await stage.app.controller.connection.dispatcher.dispatch(elsewhere, command_meta())
    await stage.sees("goal waits: /goal continue or /goal stop  Count to four.")
    held = Lease("elsewhere", now() + 600_000_000)
    opened = StartTurn(agent, (Text("And?"),), lease=held)
    await stage.app.controller.connection.dispatcher.dispatch(opened, command_meta())
    await stage.sees("goal 0 of 2 turns, stops after this turn: /goal continue or /goal stop")
    await stage.pilot.press("escape")
    await stage.type("/goal continue")
    await stage.sees("The goal is reached. It took 1 turn.")
    await until(lambda: "goal waits" not in stage.screen())


async def writes_instructions(stage: Stage) -> None:
    stage.server.replies(["Written."])
    await stage.type("/init Mention the nests.")
    await stage.sees("Written.")
    sent = str(stage.server.requests[-1].body)
    assert "Write the file AGENTS.md" in sent
    assert "In particular: Mention the nests." in sent


async def reviews(stage: Stage) -> None:
    """On the side, with tools; the row has the command and not the long prompt."""
    stage.server.replies(["Line 3 leaks.", "Nothing."])
    await stage.type("/review the locks")
    await stage.sees("Line 3 leaks.")
    assert "btw /review the locks" in stage.text()
    sent = str(stage.server.requests[-1].body)
    assert "git diff HEAD" in sent
    assert "In particular: the locks" in sent
    await stage.type("/review --here")
    await stage.sees("Nothing.")
    sent = str(stage.server.requests[-1].body)
    assert "git diff HEAD" in sent
    assert "leaks" not in sent


async def picks_a_model(stage: Stage) -> None:
    """From a list, in which the present one is marked, or by a name that is not listed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "")
        await stage.type("/model")
        await stage.sees(f"● {MODEL}")
        names = "|".join(each.name for each in programs_with("provider"))
        assert not re.search(rf"\b({names})\b", stage.screen())
    await stage.pilot.press(*"opus-5-5")
    await stage.sees("continues with claude-opus-5-5")
    await stage.pilot.press("enter")
    await stage.sees("model = claude-opus-5-5")
    await stage.type("/sessions")
    await stage.sees("Conversations")


SCREENS: list[dict[str, Check]] = [
    {
        "diff": typed("/diff START", "Difference", "+ #"),
        "replay": typed("/replay", "turn 1, call 1", "the hash matches"),
        "recall": typed("/search herons", "Search all conversations", "turn 1"),
        "agents": typed("/agents", "Agents and mail", "Still at it."),
        "context": typed("/context", "LARGEST", "turn #"),
        "help": helps,
        "answer": typed("/answer yes", "There is no question to answer"),
        "bring": typed("/bring 99", "There is no turn 99"),
        "revert": typed("/revert", "no checkpoint to revert to"),
        "wait": typed("/wait 1", "Mail has arrived"),
        "check-mail": typed("/check-mail", "Mail from"),
        "send": typed("/send child Good luck.", ": Good luck."),
        "rename": typed("/rename Nests", "Renamed to Nests"),
        "pin": typed("/pin style Be brief.", "Pinned style"),
        "unpin": typed("/unpin tone", "Unpinned tone"),
        "system": typed("/system Be kind.", "system is now Be kind."),
        "config": typed("/config cap 5000", "cap = 5000"),
        "permissions": typed("/permissions read-only", "The permission mode is read-only."),
        "mark": typed("/mark HERE", "◆ HERE"),
        "jobs": lists_jobs,
        "kill": typed("/kill child", "Killed"),
        "use": uses_custom_commands,
    },
    {
        "undo": undoes,
        "redo": typed("/redo", "4 messages pruned"),
    },
    {
        "archive": typed("/archive", "Archived", "is archived"),
        "unarchive": typed("/unarchive", "Unarchived"),
    },
    {
        "rewind": typed("/rewind START", "Rewound to START", "2 messages pruned"),
        "start": starts_beside,
        "switch": switches,
        "exit": leaves,
    },
    {
        "clear": typed("/clear 1", "2 messages pruned · /clear 1"),
        "new": goes_on_fresh,
    },
    {
        "todo": lists_todos,
        "init": writes_instructions,
        "review": reviews,
    },
    {"drop": typed("/drop 1", "1 turn dropped", "/drop 1")},
    {"edit": edits},
    {"retry": retries},
    {"fork": forks},
    {"btw": asks_on_the_side},
    {"compact": compacts},
    {"shell": runs_shell},
    {"accept-plan": accepts},
    {"goal": works_on_a_goal},
    {"model": picks_a_model},
]
"""Commands that are typed one after the other on one screen, and what is seen then."""


def test_every_command_has_a_check() -> None:
    checked = [name for checks in SCREENS for name in checks]
    assert sorted(checked) == sorted(command.name for command in TABLE.rows)


async def talk(db: Sapwood) -> Agent:
    """Two turns, a mark between them, a pin, and a child that has sent mail."""
    agent = await db.start("talk", id="everytalk", model=MODEL, pins={"tone": "Kind."})
    async with agent.turn("Where do herons nest?") as turn:
        await turn.call()
        await turn.reply("In tall trees.")
    await agent.mark("START")
    child = await agent.fork(name="child")
    await agent.record("And storks?", "On roofs.")
    await child.send(agent, "Still at it.")
    return agent


@pytest.mark.parametrize("checks", SCREENS, ids=" ".join)
async def test_a_command_can_be_typed(
    checks: dict[str, Check], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path / "data"))
    connection = await connect(":memory:")
    agent = await talk(Sapwood(connection))
    async with on_stage(agent.id, connection=connection) as stage:
        for check in checks.values():
            await check(stage)
            while stage.app.is_running and stage.app.screen is not stage.conversation:
                await stage.pilot.press("escape")  # closes the page that it opened
    await connection.close()


async def test_a_command_that_must_wait_says_so_while_a_turn_runs() -> None:
    connection = await connect(":memory:")
    agent = await talk(Sapwood(connection))
    async with on_stage(agent.id, connection=connection, delay=0.05) as stage:
        stage.server.replies(["word " * 3_000])  # more than anybody waits for
        await stage.type("Go.")
        await stage.sees("word word")
        await stage.type("/clear")
        await stage.sees("press esc to interrupt it")
        await stage.pilot.press("escape")
        await stage.sees("interrupted")
    await connection.close()


async def test_completion_fills_in_a_mark() -> None:
    connection = await connect(":memory:")
    agent = await talk(Sapwood(connection))
    async with on_stage(agent.id, connection=connection) as stage:
        await stage.pilot.press("/", "r", "e", "w")
        await stage.sees("Go back to a mark, or to just before a turn")
        await stage.pilot.press("tab")
        assert stage.conversation.composer.text == "/rewind "
        await stage.pilot.press("S", "tab")
        assert stage.conversation.composer.text == "/rewind START "
        await stage.pilot.press("escape", "enter")
        await stage.sees("Rewound to START")
    await connection.close()


async def test_a_script_is_played_step_by_step() -> None:
    connection = await connect(":memory:")
    agent = await talk(Sapwood(connection))
    async with on_stage(agent.id, connection=connection) as stage:
        stage.server.replies(["The answer."])
        await stage.type("/mark A\nTell me.\n/mark B")
        await stage.sees("The answer.")
        await stage.sees("◆ B")
        lines = stage.text()
        assert lines.index("◆ A") < lines.index("The answer.") < lines.index("◆ B")
    await connection.close()


async def test_no_explanation_of_a_command_is_cut_in_80_columns() -> None:
    async with on_stage(size=(80, 24)) as stage:
        await stage.pilot.press("slash")
        popup = stage.conversation.query_one("#popup", CompletionPopup)
        await until(lambda: popup.display)
        found = [str(option.prompt) for option in popup.options]
        assert len(found) == len(TABLE.rows)
        width = popup.scrollable_content_region.width
        for line, choice in zip(found, choices("/", KnownNames()), strict=True):
            assert choice.help in line[:width]


def test_a_bare_slash_lists_the_commands_that_are_used_most_first() -> None:
    words = [choice.word for choice in choices("/", KnownNames())]
    assert words[:5] == ["/clear", "/undo", "/context", "/mark", "/rewind"]
    assert sorted(words) == sorted(row.typed for row in TABLE.rows)
