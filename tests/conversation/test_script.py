"""A submission is a little script of commands and text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.conversation.script import CommandStep, Script, TextStep, parse
from sapwood.core.command_table import TABLE
from sapwood.core.refusals import UnclearGoal, UnknownCommand


def steps(submission: str) -> Script:
    """The steps of a submission that is not refused."""
    script = parse(submission)
    assert isinstance(script, tuple), script
    return script


def run(name: str, args: str = "") -> CommandStep:
    """A command as it was typed."""
    return CommandStep(TABLE[name], args)


# Commands


@pytest.mark.parametrize("name", TABLE.names)
def test_every_name_alone_is_its_command(name: str) -> None:
    assert steps(f"/{name}") == (run(name),)


def test_the_rest_of_the_line_are_the_arguments() -> None:
    assert steps("/send abc123  task complete /now ") == (
        run("send", "abc123  task complete /now"),
    )


@pytest.mark.parametrize(
    "submission", ["/clear", "\n/clear\n\n", "/clear \t", "/clear\r\n", "  /clear"]
)
def test_space_around_a_single_command_does_not_matter(submission: str) -> None:
    assert steps(submission) == (run("clear"),)


def test_lines_that_end_as_on_windows_are_lines() -> None:
    assert steps("/mark T\r\nFind the leak.\r\n/fork T\r\n") == (
        run("mark", "T"),
        TextStep("Find the leak.", goal=True),
        run("fork", "T"),
    )


def test_names_are_lower_case() -> None:
    assert parse("/CLEAR") == UnknownCommand("/CLEAR", ("clear",))
    assert steps("first\n/CLEAR") == (TextStep("first\n/CLEAR"),)


# Text


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "/usr/bin/env python",
        "/etc/hosts",
        "/help/me",
        "/mark.",
        "/ alone",
        "/",
        "a /clear in the middle",
        "-/clear",
        "/9lives",
        "日本語 /clear",
        "// TODO: a comment",
        "//",
    ],
)
def test_what_starts_with_no_command_is_text_as_it_is(text: str) -> None:
    assert steps(text) == (TextStep(text),)


@pytest.mark.parametrize("submission", ["", " ", "\n", "\r\n \n", "\t"])
def test_nothing_is_nothing(submission: str) -> None:
    assert steps(submission) == ()


def test_an_unknown_command_alone_is_refused_with_the_nearest_names() -> None:
    for word, meant in (("/mrak", "mark"), ("/checkmail", "check-mail"), ("/cleaar", "clear")):
        refusal = parse(f"{word} T")
        assert isinstance(refusal, UnknownCommand)
        assert (refusal.word, refusal.close[0]) == (word, meant)
    assert parse("  /zzz") == UnknownCommand("/zzz", ())


def test_an_unknown_command_among_lines_is_text() -> None:
    text = "Look at this:\n/tmp is full\n/var too"
    assert steps(text) == (TextStep(text),)


def test_two_slashes_send_a_line_as_it_is() -> None:
    assert steps("//clear 3") == (TextStep("/clear 3"),)
    assert steps("//tmp is full") == (TextStep("/tmp is full"),)
    assert steps("Type\n//clear\nto start afresh.") == (TextStep("Type\n/clear\nto start afresh."),)


def test_comments_of_pasted_code_keep_their_slashes() -> None:
    code = "int x; // one\n// two\n//three\n//\n  //four"
    assert steps(code) == (TextStep(code),)


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "   ```"])
def test_a_fenced_block_stays_text(fence: str) -> None:
    text = f"Explain:\n{fence}sh\n/clear\n//clear\n{fence}\nplease"
    assert steps(text) == (TextStep(text),)


def test_after_a_fence_commands_are_commands_again() -> None:
    assert steps("```\n/clear\n```\n/mark T")[-1] == run("mark", "T")


def test_a_fence_ends_only_with_one_of_its_kind_and_length() -> None:
    text = "````\n```\n/clear\n~~~~\n/clear\n````"
    assert steps(text) == (TextStep(text),)


def test_an_open_fence_reaches_to_the_end() -> None:
    text = "```\n/clear"
    assert steps(text) == (TextStep(text),)


def test_code_between_ticks_on_one_line_is_no_fence() -> None:
    assert steps("```/clear``` clears\n/mark T") == (
        TextStep("```/clear``` clears"),
        run("mark", "T"),
    )


def test_an_indented_command_among_lines_is_text_because_it_was_pasted() -> None:
    text = "From the help:\n  /clear  Start afresh\n  /undo"
    assert steps(text) == (TextStep(text),)


def test_text_keeps_its_blank_lines_and_its_strange_separators() -> None:
    text = "one\n\n  two\x0bthree\x0cfour\x85five\u2028six\u2029seven"
    assert steps(f"/mark T\n\n{text}\n\n") == (run("mark", "T"), TextStep(text))


@given(st.text(st.characters(exclude_characters="/`~", exclude_categories=["Cs"]), max_size=60))
def test_text_without_slashes_is_only_stripped_at_its_ends(text: str) -> None:
    (step,) = steps(f"x{text}x")
    assert step == TextStep(f"x{text}x")


@given(st.text(max_size=80))
def test_no_submission_is_too_strange(text: str) -> None:
    script = parse(text)
    assert isinstance(script, UnknownCommand | tuple)


def test_a_long_submission_is_parsed_in_little_time() -> None:
    text = "/ " + "x" * 1_000_000 + "\n" + "// y\n" * 20_000
    assert len(steps(text)) == 1


# Scripts


def test_the_three_line_pattern_is_mark_goal_fork() -> None:
    submission = (
        "/mark RESEARCH\n"
        "Investigate authentication approaches. Compare OAuth2, JWT, and session-based.\n"
        "Report findings via /send when complete.\n"
        "/fork RESEARCH"
    )
    goal = (
        "Investigate authentication approaches. Compare OAuth2, JWT, and session-based.\n"
        "Report findings via /send when complete."
    )
    assert steps(submission) == (
        run("mark", "RESEARCH"),
        TextStep(goal, goal=True),
        run("fork", "RESEARCH"),
    )


def test_parallel_research_gives_each_child_its_own_goal() -> None:
    submission = """/mark AUTH_RESEARCH
Research OAuth2 implementation patterns. Report via /send.
/fork AUTH_RESEARCH

/mark SESSION_RESEARCH
Research session-based auth patterns. Report via /send.
/fork SESSION_RESEARCH

Meanwhile, look at the tests.
/check-mail"""
    assert steps(submission) == (
        run("mark", "AUTH_RESEARCH"),
        TextStep("Research OAuth2 implementation patterns. Report via /send.", goal=True),
        run("fork", "AUTH_RESEARCH"),
        run("mark", "SESSION_RESEARCH"),
        TextStep("Research session-based auth patterns. Report via /send.", goal=True),
        run("fork", "SESSION_RESEARCH"),
        TextStep("Meanwhile, look at the tests."),
        run("check-mail"),
    )


def test_text_before_other_commands_is_a_prompt() -> None:
    assert steps("Explain.\n/mark T") == (TextStep("Explain."), run("mark", "T"))


def test_only_the_last_text_before_a_fork_is_its_goal() -> None:
    assert steps("one\n/mark T\ntwo\n/fork T\nthree") == (
        TextStep("one"),
        run("mark", "T"),
        TextStep("two", goal=True),
        run("fork", "T"),
        TextStep("three"),
    )


def test_a_goal_may_be_a_fenced_block() -> None:
    script = steps("/mark T\n```\n/clear\n```\n/fork T")
    assert script[1] == TextStep("```\n/clear\n```", goal=True)


# Free text of several lines


@pytest.mark.parametrize(
    "head", ["/fork T -- Do this:", "/pin rule Do this:", "/send kid Do this:"]
)
def test_free_text_takes_the_lines_after_it_if_none_is_a_command(head: str) -> None:
    (step,) = steps(f"{head}\n1. first\n\n2. second")
    assert isinstance(step, CommandStep)
    assert step.line == f"{head}\n1. first\n\n2. second"


def test_a_system_prompt_takes_several_lines() -> None:
    assert steps("/system\nBe brief.\nBe kind.") == (run("system", "Be brief.\nBe kind."),)
    assert steps("/system Be brief.\nBe kind.") == (run("system", "Be brief.\nBe kind."),)


@pytest.mark.parametrize("head", ["/system You are", "/pin rule You are", "/send kid You are"])
def test_free_text_keeps_the_blank_lines_after_its_first_line(head: str) -> None:
    (step,) = steps(f"{head}\n\n/etc/passwd is a path\n\n")
    assert isinstance(step, CommandStep)
    assert step.line == f"{head}\n\n/etc/passwd is a path"


@pytest.mark.parametrize(
    ("head", "args"), [("/system", ""), ("/system --", ""), ("/fork --", "--")]
)
def test_free_text_that_begins_below_its_command_has_no_blank_lines_before_it(
    head: str, args: str
) -> None:
    (step,) = steps(f"{head}\n\nBe brief.")
    assert isinstance(step, CommandStep)
    assert step.args == f"{args}\nBe brief.".strip()


def test_a_command_inside_a_fence_of_a_goal_belongs_to_the_goal() -> None:
    goal = "Explain:\n```\n/clear\n```"
    assert steps(f"/fork T -- {goal}") == (run("fork", f"T -- {goal}"),)


def test_free_text_takes_its_own_line_if_a_later_line_is_a_command() -> None:
    assert steps("/pin rule Be brief.\nWhat is 6 x 7?\n/mark T") == (
        run("pin", "rule Be brief."),
        TextStep("What is 6 x 7?"),
        run("mark", "T"),
    )


@pytest.mark.parametrize(
    ("head", "args"),
    [
        ("/fork T --", "T --"),
        ("/fork --", "--"),
        ("/fork T -- Do this: --", "T -- Do this:"),
        ("/pin rule --", "rule"),
        ("/send kid --", "kid"),
        ("/system --", ""),
    ],
)
def test_two_dashes_at_the_end_of_the_line_take_everything(head: str, args: str) -> None:
    rest = "1. first\n/send parent done\n//clear\n/clear"
    (step,) = steps(f"/mark T\n{head}\n{rest}")[1:]
    assert isinstance(step, CommandStep)
    assert step.args == f"{args}\n{rest}".strip()


def test_a_goal_with_a_command_among_its_lines_is_refused_and_says_what_to_do() -> None:
    refusal = parse("/fork T -- Do this:\n1. first\n/send parent done")
    assert refusal == UnclearGoal("/fork T -- Do this:", "/send")
    assert isinstance(refusal, UnclearGoal)
    assert "--" in refusal.sentence


def test_forks_with_goals_may_follow_one_another() -> None:
    assert steps("/fork T -- one\n/fork T -- two") == (
        run("fork", "T -- one"),
        run("fork", "T -- two"),
    )


def test_text_after_a_fork_without_a_goal_is_a_prompt() -> None:
    assert steps("/fork T\nGo on.") == (run("fork", "T"), TextStep("Go on."))


def test_a_command_of_another_program_names_those_that_do_the_same() -> None:
    assert parse("/summarize") == UnknownCommand("/summarize", ("compact",))
    plan = parse("/plan")
    assert isinstance(plan, UnknownCommand)
    assert "Did you mean /permissions plan?" in plan.sentence
    assert parse("/sessions") == parse("/switch")
