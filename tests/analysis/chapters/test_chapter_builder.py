"""Chapters: every turn is in one, shares add up, and a status is what somebody said."""

import time

import msgspec
import pytest

from sapwood.analysis.chapter_report import ChapterReport, DeclaredStatus, JudgedTurns
from sapwood.analysis.chapters.chapter_builder import ChapterBuilder, chapters_of
from sapwood.analysis.session import Session
from sapwood.core.content import Note
from sapwood.core.turn import Turn
from sapwood.tokens.estimators import FeatureCounter
from tests.analysis.sessions import ToolRun, asked, session

COUNTER = FeatureCounter()
MINUTE = 60_000_000


def edit(path: str) -> ToolRun:
    return ToolRun("Edit", f'{{"file_path": "{path}", "old_string": "a", "new_string": "b"}}', "ok")


TASK = (
    asked(
        "Add OAuth login with PKCE to the mobile app.",
        edit("src/oauth.ts"),
        "The OAuth client creates a PKCE verifier and sends the challenge to the authorize URL.",
    ),
    asked(
        "Store the refresh token in the keychain.",
        edit("src/tokens.ts"),
        "The refresh token of the OAuth login is kept in the keychain of the mobile app.",
    ),
    asked(
        "What happens when the refresh token expires?",
        "The OAuth client asks for a new login and starts PKCE again.",
    ),
)
ASIDE = (
    asked(
        "btw, our webpack build takes four minutes on Jenkins. Any idea why?",
        "Source maps are made for every chunk, and the Jenkins agents have no webpack cache.",
    ),
    asked("can that cache be shared?", "Yes, webpack can write its cache to a Jenkins volume."),
)
BACK = asked(
    "Back to the login: revoke the OAuth token on logout.",
    edit("src/oauth.ts"),
    "Logout revokes the refresh token at the OAuth server.",
)
CHAT = asked("haha thanks, lunch time 🍕", "Enjoy!")


NOTHING = DeclaredStatus()


def found(
    *turns: Turn, declared: DeclaredStatus = NOTHING, times: tuple[int, ...] = ()
) -> ChapterReport:
    work = msgspec.structs.replace(session(*turns), times=times)
    return chapters_of(work, COUNTER, declared)


def test_an_empty_session_has_no_chapters() -> None:
    report = found()
    assert (report.chapters, report.recommendation) == ((), "")


def test_an_aside_is_a_chapter_and_the_return_continues_the_first() -> None:
    first, aside = found(*TASK, *ASIDE, BACK).chapters
    assert (first.spans, first.returned_to) == (((1, 3), (6, 6)), (6,))
    assert (aside.spans, aside.returned_to) == (((4, 5),), ())
    assert first.files == ("src/oauth.ts", "src/tokens.ts")


def test_a_chapter_is_named_by_the_first_words_that_the_user_typed() -> None:
    first, aside = found(*TASK, *ASIDE, BACK).chapters
    assert first.name == "Add OAuth login with PKCE to the mobile app"
    assert aside.name == "btw, our webpack build takes four minutes on Jenkins. Any"


@pytest.mark.parametrize(
    "pasted",
    [
        "2026-01-02 10:00:01 ERROR use the cache\n2026-01-02 10:00:02 ERROR keep it",
        "| id | name | amount |\n| --- | --- | --- |\n| 1 | Ada | 20 |",
        "id;name;amount\n1;Ada;20\n2;Bo;30\n3;Cy;12",
        "id,name,amount\n1,Ada,20\n2,Bo,30\n3,Cy,12",
        "id\tname\tamount\n1\tAda\t20\n2\tBo\t30\n3\tCy\t12",
        "```\nkeep = True\n```",
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x'",
    ],
)
def test_no_chapter_is_named_by_what_was_pasted(pasted: str) -> None:
    typed = "number the invoices per year"
    for prompt in (f"{pasted}\n\n{typed}", f"{typed}\n\n{pasted}"):
        assert [each.name for each in found(asked(prompt, "Done.")).chapters] == [typed]
    assert [each.name for each in found(asked(pasted, "Done.")).chapters] == ["turn 1"]


def test_a_prompt_of_two_words_names_nothing_if_a_longer_one_follows() -> None:
    turns = (asked("go on", "Done."), asked("number the invoices", "Done."))
    assert [each.name for each in found(*turns).chapters] == ["number the invoices"]


def test_turns_tokens_and_shares_add_up() -> None:
    turns = (*TASK, *ASIDE, CHAT, BACK)
    report = found(*turns)
    assert sorted(report.names_by_turn()) == [1, 2, 3, 4, 5, 6, 7]
    assert sum(chapter.turns for chapter in report.chapters) == 7
    assert round(sum(chapter.share for chapter in report.chapters), 6) == 1


def test_nobody_said_anything_so_nothing_has_a_status_and_nothing_is_advised() -> None:
    report = found(*TASK, *ASIDE, BACK)
    assert {(each.status, each.by) for each in report.chapters} == {(None, None)}
    assert (report.archive, report.recommendation) == ((), "")


def test_a_declared_topic_names_its_chapter_and_counts_more_than_the_prompt() -> None:
    declared = DeclaredStatus(goals=("webpack build speed",), background=("OAuth login",))
    first, aside = found(*TASK, *ASIDE, BACK, declared=declared).chapters
    assert (aside.name, aside.status, aside.by) == ("webpack build speed", "goal", "declared")
    assert (first.name, first.status, first.by) == ("OAuth login", "background", "declared")


def test_a_long_goal_gives_a_status_and_no_name() -> None:
    goal = "OAuth login with PKCE in the mobile app, with the refresh token in the keychain"
    first = found(*TASK, *ASIDE, BACK, declared=DeclaredStatus(goals=(goal,))).chapters[0]
    assert (first.name, first.status) == ("Add OAuth login with PKCE to the mobile app", "goal")


def test_a_judged_chapter_says_that_it_was_judged() -> None:
    declared = DeclaredStatus(judged=(JudgedTurns(4, 5, "other work"),))
    aside = found(*TASK, *ASIDE, BACK, declared=declared).chapters[1]
    assert (aside.status, aside.by) == ("other work", "judged")


def test_the_recommendation_names_what_somebody_said_to_be_off_the_task() -> None:
    for declared, by in (
        (DeclaredStatus(judged=(JudgedTurns(4, 5, "other work"),)), "other work, judged"),
        (DeclaredStatus(background=("webpack build",)), "background, declared"),
    ):
        report = found(*TASK, *ASIDE, BACK, declared=declared)
        aside = report.chapters[1]
        assert (report.archive, report.frees) == ((aside.name,), aside.tokens)
        assert by in report.recommendation
        assert f"sapwood context archive --topic '{aside.name}'" in report.recommendation


def test_the_newest_chapter_and_a_goal_are_never_recommended() -> None:
    newest = DeclaredStatus(background=("webpack build",))
    assert found(*TASK, *ASIDE, declared=newest).archive == ()
    goal = DeclaredStatus(goals=("OAuth login",), judged=(JudgedTurns(1, 3, "other work"),))
    assert found(*TASK, *ASIDE, declared=goal).archive == ()


def test_what_was_rewound_is_in_no_chapter() -> None:
    work = msgspec.structs.replace(session(*TASK, *ASIDE, BACK), abandoned=(3, 4))
    (chapter,) = chapters_of(work, COUNTER).chapters
    assert chapter.turns == 4
    assert chapter.spans == ((1, 6),)
    whole = sum(each.tokens for each in found(*TASK, BACK).chapters)
    assert chapter.tokens == whole


def test_a_night_between_two_turns_counts() -> None:
    turns = (*TASK, asked("Morning! So, invoices: number them per year.", edit("invoices.py")))
    close = tuple(index * MINUTE for index in range(1, 5))
    night = (*close[:3], close[3] + 600 * MINUTE)
    assert len(found(*turns, times=night).chapters) >= len(found(*turns, times=close).chapters)
    assert found(*turns, times=night).chapters[-1].spans == ((4, 4),)


def test_a_question_to_sapwood_begins_no_chapter() -> None:
    meta = asked("/sapwood:context drift", "The chapters are …")
    assert [each.spans for each in found(*TASK, meta).chapters] == [((1, 4),)]


def test_adding_turns_one_by_one_gives_the_same_chapters() -> None:
    turns = (*TASK, *ASIDE, CHAT, BACK)
    builder = ChapterBuilder(COUNTER, "/srv/shop")
    for number, turn in enumerate(turns, 1):
        builder.add(turn)
        whole = found(*turns[:number])
        assert builder.report(whole.task) == whole


def test_a_continuation_counts_with_the_turn_before() -> None:
    on = msgspec.structs.replace(TASK[1], prompt=(Note("program", "goes on"),))
    report = found(TASK[0], on, TASK[2])
    assert sorted(report.names_by_turn()) == [1, 2, 3]
    assert sum(each.tokens for each in report.chapters) == sum(
        each.tokens for each in found(*TASK).chapters
    ) - _tokens("Store the refresh token in the keychain.") + _tokens("goes on")


def _tokens(text: str) -> int:
    return COUNTER.count(text).tokens


@pytest.mark.parametrize("prompt", ["", "?", "🍕", "x" * 5_000, "\n\n", "```\ncode\n```"])
def test_any_prompt_is_accepted(prompt: str) -> None:
    report = chapters_of(Session("codex", "1", turns=(asked(prompt), *TASK)), COUNTER)
    assert len(report.names_by_turn()) == 4
    assert all(chapter.name for chapter in report.chapters)


@pytest.mark.parametrize("filler", ["a", "so ", "error: x\n", "ok, ", "- "])
def test_a_pasted_million_characters_cost_no_more_than_the_start_of_them(filler: str) -> None:
    pasted = asked(filler * (1_000_000 // len(filler)), "Read.")
    started = time.process_time()
    found(*TASK, pasted, BACK)
    assert time.process_time() - started < 5


def test_the_same_subject_gets_no_second_name() -> None:
    names = [each.name for each in found(*TASK, *ASIDE, BACK, *ASIDE, *TASK).chapters]
    assert len(names) == len({name.casefold() for name in names})


def test_its_json_has_plain_names() -> None:
    told = msgspec.json.decode(msgspec.json.encode(found(*TASK)))
    assert set(told) == {"task", "chapters", "recommendation", "archive", "frees"}
    assert set(told["chapters"][0]) == {
        *("name", "spans", "turns", "tokens", "share", "files", "returned_to", "began"),
        *("status", "by"),
    }
