"""A script in pieces: a goal goes with every fork up to the next text."""

from sapwood.conversation.script import CommandStep, TextStep, chunks, parse


def pieces(submission: str) -> list[list[str]]:
    script = parse(submission)
    assert isinstance(script, tuple)
    return [[_word(step) for step in chunk] for chunk in chunks(script)]


def _word(step: TextStep | CommandStep) -> str:
    return step.text if isinstance(step, TextStep) else f"/{step.command.name}"


def test_each_step_is_a_piece() -> None:
    assert pieces("/mark T\nhello\n/clear") == [["/mark"], ["hello"], ["/clear"]]


def test_a_goal_goes_with_every_fork_after_it() -> None:
    assert pieces("goal\n/fork\n/fork") == [["goal", "/fork"], ["goal", "/fork"]]


def test_what_stands_between_stands_alone() -> None:
    assert pieces("goal\n/agents\n/fork") == [["/agents"], ["goal", "/fork"]]


def test_another_text_ends_it() -> None:
    script = "goal\n/fork\nhello\n/mark T"
    assert pieces(script) == [["goal", "/fork"], ["hello"], ["/mark"]]
