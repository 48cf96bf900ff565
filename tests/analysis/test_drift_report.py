"""Drift: every turn has a topic and a status, and the shares of the topics add up."""

import msgspec
import pytest

from sapwood.analysis import drift_of
from sapwood.analysis.drift_report import NOISE, DriftBuilder
from sapwood.analysis.session import Session
from sapwood.core.content import Note
from sapwood.core.turn import Turn
from sapwood.tokens import FeatureCounter
from tests.analysis.sessions import ToolRun, asked, session


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


def drifted(*turns: Turn, focus: tuple[str, ...] = ()):
    return drift_of(session(*turns), FeatureCounter(), focus)


def test_an_empty_session_has_no_topics() -> None:
    assert drift_of(session(), FeatureCounter()).topics == ()


def test_turns_are_on_track_tangents_or_noise() -> None:
    drift = drifted(*TASK, *ASIDE, CHAT, BACK)
    assert [place.status for place in drift.turns] == [
        *["on-track"] * 3,
        *["tangent"] * 2,
        "noise",
        "on-track",
    ]
    assert [place.turn for place in drift.turns] == [1, 2, 3, 4, 5, 6, 7]


def test_topics_have_names_of_their_own_words_and_shares_that_add_up() -> None:
    drift = drifted(*TASK, *ASIDE, CHAT, BACK)
    of = {place.turn: place.topic for place in drift.turns}
    assert of[1] == of[7] != of[4] == of[5]
    assert "OAuth" in of[1]
    assert "webpack" in of[4]
    assert of[6] == NOISE
    assert round(sum(topic.share for topic in drift.topics), 6) == 1
    assert {place.topic for place in drift.turns} == {topic.name for topic in drift.topics}
    assert [t.tokens for t in drift.topics] == sorted(
        (t.tokens for t in drift.topics), reverse=True
    )


def test_the_recommendation_names_topics_and_freed_tokens() -> None:
    drift = drifted(*TASK, *ASIDE, BACK)
    (beside,) = [topic for topic in drift.topics if topic.status == "tangent"]
    assert drift.archive == (beside.name,)
    assert drift.frees == beside.tokens
    assert f'"{beside.name}"' in drift.recommendation


def test_the_current_topic_is_not_recommended_for_archiving() -> None:
    drift = drifted(*TASK, *ASIDE)
    assert drift.archive == ()
    assert "context focus" in drift.recommendation


def test_a_session_on_track_has_nothing_to_archive() -> None:
    assert drifted(*TASK).recommendation == "Nothing to archive: the session is on track."


def test_a_declared_topic_keeps_its_name_and_is_on_track() -> None:
    drift = drifted(*TASK, *ASIDE, BACK, focus=("webpack build speed",))
    (declared,) = [topic for topic in drift.topics if topic.declared]
    assert (declared.name, declared.status) == ("webpack build speed", "on-track")
    assert drift.archive == ()


def test_the_task_begins_after_the_greeting() -> None:
    drift = drifted(asked("Hi! Good morning 🙂", "Good morning!"), *TASK)
    assert drift.task == "Add OAuth login with PKCE to the mobile app."
    assert [place.status for place in drift.turns] == ["noise", *["on-track"] * 3]


def test_adding_turns_one_by_one_gives_the_same_drift() -> None:
    turns = (*TASK, *ASIDE, CHAT, BACK)
    fold = DriftBuilder(FeatureCounter(), "/srv/shop")
    for number, turn in enumerate(turns, 1):
        fold.add(turn)
        whole = drift_of(session(*turns[:number]), FeatureCounter())
        assert fold.drift(whole.task) == whole


def test_a_continuation_counts_with_the_turn_before() -> None:
    on = msgspec.structs.replace(TASK[1], prompt=(Note("program", "goes on"),))
    drift = drifted(TASK[0], on, TASK[2])
    assert [place.turn for place in drift.turns] == [1, 2]
    assert sum(topic.tokens for topic in drift.topics) == sum(
        topic.tokens for topic in drifted(TASK[0], TASK[1], TASK[2]).topics
    ) - _tokens("Store the refresh token in the keychain.") + _tokens("goes on")


def _tokens(text: str) -> int:
    return FeatureCounter().count(text).tokens


@pytest.mark.parametrize("prompt", ["", "?", "🍕", "x" * 5_000, "\n\n", "```\ncode\n```"])
def test_any_prompt_is_accepted(prompt: str) -> None:
    drift = drift_of(Session("codex", "1", turns=(asked(prompt), *TASK)), FeatureCounter())
    assert len(drift.turns) == 4


def test_its_json_has_plain_names() -> None:
    told = msgspec.json.decode(msgspec.json.encode(drifted(*TASK)))
    assert set(told) == {"task", "turns", "topics", "recommendation", "archive", "frees"}
    assert set(told["turns"][0]) == {"turn", "topic", "status"}
    assert set(told["topics"][0]) == {"name", "tokens", "share", "status", "declared"}
