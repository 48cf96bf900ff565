"""The chapters in the sidebar, with what a judge said about them."""

import sapwood
from sapwood.conversation.surroundings import chapters_in_view
from sapwood.core.commands import RecordJudgement
from sapwood.core.events import SYSTEM, JudgedStretch
from sapwood.turns.clock_and_ids import command_meta

PROMPTS = (
    "Build the login page with OAuth tokens.",
    "Refresh the OAuth tokens of the login page.",
    "Unrelated: why is the webpack bundle so slow on Jenkins?",
    "Which webpack plugin of the bundle is slow on Jenkins?",
)


async def test_what_a_judge_said_is_shown_also_after_turns_left_view() -> None:
    async with sapwood.open(":memory:") as db:
        agent = await db.start("demo")
        for prompt in PROMPTS:
            await agent.record(prompt, "Done. " * 40)
        space = db.connection
        before = await chapters_in_view(space, agent.id)
        assert [each.by for each in before.chapters] == [None, None]
        judged = RecordJudgement(agent.id, "gpt-5", (JudgedStretch(3, 4, "other work"),))
        await space.dispatcher.dispatch(judged, command_meta(SYSTEM))
        after = await chapters_in_view(space, agent.id)
        assert [(each.status, each.by) for each in after.chapters] == [
            (None, None),
            ("other work", "judged"),
        ]
        await agent.run_command("/clear 3")
        left = await chapters_in_view(space, agent.id)
        assert left.chapters[-1].spans == ((3, 4),)
        assert (left.chapters[-1].status, left.chapters[-1].by) == ("other work", "judged")
