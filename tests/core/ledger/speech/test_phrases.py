"""Phrases are found as they are written."""

import pytest

from sapwood.core.ledger.speech.phrases import Phrases, tokens


@pytest.mark.parametrize(
    ("phrase", "sentence", "found"),
    [
        ("go with|for", "We go for it.", True),
        ("go with|for", "We go on.", False),
        ("use _ only", "please use this only", True),
        ("use _ only", "use only", False),
        ("let's just|also* use", "Let's just also use X.", True),
        ("so very? good", "so good", True),
        ("so very? good", "so very very good", False),
        ("let's !see|look", "let's see", False),
        ("let's !see|look", "let's go", True),
        ("let's !see|look", "let's, well", False),
        ("will do $", "that will do, thanks", True),
        ("will do $", "that will do it", False),
        ("not ... then", "not pin it in this file then", True),
        ("decision :", "Decision: Redis", True),
        ("use @tool", "we use grep here", True),
    ],
)
def test_a_phrase_is_found_anywhere(phrase: str, sentence: str, found: bool) -> None:
    assert Phrases(phrase, {"tool": "sed grep"}).search(tokens(sentence)) is found


def test_a_phrase_may_have_to_stand_first() -> None:
    assert Phrases("use").match(tokens("Use it."))
    assert not Phrases("use").match(tokens("We use it."))


def test_phrases_can_be_taken_out() -> None:
    phrases = Phrases("keep going\nmake sure")
    assert phrases.without(tokens("make sure you keep going now"), "look") == (
        "look",
        "you",
        "look",
        "now",
    )


def test_nothing_is_found_in_nothing() -> None:
    assert not Phrases("a\n_ b").search(tokens(""))
