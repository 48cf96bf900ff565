"""Chapters: every turn is in one, shares add up, and a status is what somebody said."""

import time

import msgspec
import pytest

from sapwood.analysis.chapter_report import ChapterReport, JudgedTurns, Said
from sapwood.analysis.chapters.chapter_builder import ChapterBuilder, chapters_of
from sapwood.analysis.session import Session
from sapwood.core.content import Note
from sapwood.core.turn import Turn
from sapwood.tokens import FeatureCounter
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


NOTHING = Said()


def found(*turns: Turn, said: Said = NOTHING, times: tuple[int, ...] = ()) -> ChapterReport:
    work = msgspec.structs.replace(session(*turns), times=times)
    return chapters_of(work, COUNTER, said)


def test_an_empty_session_has_no_chapters() -> None:
    report = found()
    assert (report.chapters, report.recommendation) == ((), "")


def test_an_aside_is_a_chapter_and_the_return_continues_the_first() -> None:
    first, aside = found(*TASK, *ASIDE, BACK).chapters
    assert (first.spans, first.returned_to) == (((1, 3), (6, 6)), (6,))
    assert (aside.spans, aside.returned_to) == (((4, 5),), ())
    assert first.files == ("src/oauth.ts", "src/tokens.ts")


def test_a_chapter_is_named_by_the_prompt_that_opens_it() -> None:
    first, aside = found(*TASK, *ASIDE, BACK).chapters
    assert first.name == "Add OAuth login with PKCE"
    assert "webpack" in aside.name


def test_turns_tokens_and_shares_add_up() -> None:
    turns = (*TASK, *ASIDE, CHAT, BACK)
    report = found(*turns)
    assert sorted(report.names_by_turn()) == [1, 2, 3, 4, 5, 6, 7]
    assert sum(chapter.turns for chapter in report.chapters) == 7
    assert round(sum(chapter.share for chapter in report.chapters), 6) == 1


def test_nobody_said_anything_so_nothing_has_a_status() -> None:
    assert {(each.status, each.by) for each in found(*TASK, BACK).chapters} == {(None, None)}


def test_an_announced_aside_says_so() -> None:
    first, aside = found(*TASK, *ASIDE, BACK).chapters
    assert (first.status, first.by) == (None, None)
    assert (aside.status, aside.by) == ("aside", "announced")


def test_a_declared_topic_names_its_chapter_and_counts_more_than_the_prompt() -> None:
    said = Said(goals=("webpack build speed",), background=("OAuth login",))
    first, aside = found(*TASK, *ASIDE, BACK, said=said).chapters
    assert (aside.name, aside.status, aside.by) == ("webpack build speed", "goal", "declared")
    assert (first.name, first.status, first.by) == ("OAuth login", "background", "declared")


def test_a_long_goal_gives_a_status_and_no_name() -> None:
    goal = "OAuth login with PKCE in the mobile app, with the refresh token in the keychain"
    first = found(*TASK, *ASIDE, BACK, said=Said(goals=(goal,))).chapters[0]
    assert (first.name, first.status) == ("Add OAuth login with PKCE", "goal")


def test_a_judged_chapter_says_that_it_was_judged() -> None:
    said = Said(judged=(JudgedTurns(4, 5, "other work"),))
    aside = found(*TASK, *ASIDE, BACK, said=said).chapters[1]
    assert (aside.status, aside.by) == ("other work", "judged")


def test_the_recommendation_names_the_largest_finished_chapters() -> None:
    report = found(*TASK, *ASIDE, BACK, asked("now revoke it everywhere", "Done."))
    (aside,) = [each for each in report.chapters if each.finished]
    assert report.archive == (aside.name,)
    assert report.frees == aside.tokens
    assert f"sapwood context archive --topic '{aside.name}'" in report.recommendation


def test_what_is_going_on_or_declared_is_not_recommended() -> None:
    assert found(*TASK, *ASIDE).archive != (found(*TASK, *ASIDE).chapters[-1].name,)
    said = Said(goals=("webpack build speed",))
    assert found(*TASK, *ASIDE, BACK, BACK, said=said).archive == ()


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
    assert sorted(report.names_by_turn()) == [1, 2]
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
        *("finished", "status", "by"),
    }
