"""Phrase patterns match sentences."""

import pytest

from sapwood.analysis.language.phrases import Phrases, tokens


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


def test_a_phrase_can_be_required_at_the_beginning() -> None:
    assert Phrases("use").match(tokens("Use it."))
    assert not Phrases("use").match(tokens("We use it."))


def test_phrases_can_be_replaced() -> None:
    phrases = Phrases("keep going\nmake sure")
    assert phrases.replace(tokens("make sure you keep going now"), "look") == (
        "look",
        "you",
        "look",
        "now",
    )


def test_an_empty_sentence_contains_no_phrase() -> None:
    assert not Phrases("a\n_ b").search(tokens(""))
