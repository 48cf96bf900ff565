"""Which sentences are decisions, and which reverse one."""

import pytest

from tests.analysis.ledger.dialogue.dialogues import conversation_ledger


@pytest.mark.parametrize(
    "sentence",
    [
        "Let's use Postgres for this.",
        "let's go with option B",
        "We'll stick with REST.",
        "We decided against a queue.",
        "Use bcrypt, not md5.",
        "use tabs instead of spaces in the Makefile",
        "Don't add any new dependencies.",
        "never log the token",
        "Keep the old endpoint for one release.",
        "No external services in tests.",
        "I'd rather have one table.",
        "I don't want a config file for that.",
        "SQLite is enough for now.",
        "Redis it is!",
        "Make it configurable.",
        "ok, then drop the XML export",
        "Let's not cache this.",
        "We are going to migrate to TypeScript.",
        "Skip Windows support for v1.",
        "the API must stay backwards compatible",
    ],
)
def test_a_choice_of_the_user_is_a_decision(sentence: str) -> None:
    assert [decision.text for decision in conversation_ledger(sentence, "Fine.").decisions] == [
        sentence
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "Please add a test for the parser.",
        "Can we use Postgres here?",
        "Should we keep the old endpoint?",
        "let's see what happens",
        "Let's continue with the next step.",
        "I don't know why it fails.",
        "The build was broken yesterday because of the cache.",
        "Run the tests again and fix what fails.",
        "thanks, that looks great!",
        "Make sure it compiles.",
        "What is the difference between the two?",
        "maybe we could use a queue at some point",
        "The login page shows an error when I click twice.",
        "go on",
        "I have never used Kubernetes.",
        "Write a README and commit.",
        "Don't forget the changelog.",
    ],
)
def test_a_request_a_question_or_a_report_is_no_decision(sentence: str) -> None:
    assert conversation_ledger(sentence, "Done.").decisions == ()


def test_the_answer_to_a_question_is_a_decision() -> None:
    ledger = conversation_ledger(
        "Add a store.", "Should it live in memory or on disk?", "on disk", "Done."
    )
    assert [(d.text, d.turn) for d in ledger.decisions] == [("on disk", 2)]


def test_a_figure_that_was_asked_for_is_a_decision() -> None:
    ledger = conversation_ledger(
        "Add retries.", "After how many attempts do we give up?", "5 attempts", "Done."
    )
    assert [d.text for d in ledger.decisions] == ["5 attempts"]


def test_agreeing_makes_a_proposal_a_decision() -> None:
    ledger = conversation_ledger(
        "How?", "I'd store the sessions in Redis.", "Sounds good, go ahead.", "Done."
    )
    assert [(d.text, d.turn, d.by) for d in ledger.decisions] == [
        ("I'd store the sessions in Redis.", 2, "user")
    ]


def test_permission_to_continue_is_no_decision() -> None:
    assert (
        conversation_ledger(
            "Fix it.", "Fixed. Shall I run the tests?", "yes please", "Done."
        ).decisions
        == ()
    )


def test_a_model_decides_when_it_says_so() -> None:
    ledger = conversation_ledger("Do it.", "I went with a hash map. I ran the tests. They pass.")
    assert [(d.text, d.by) for d in ledger.decisions] == [("I went with a hash map.", "model")]


def test_two_choices_in_a_sentence_are_two_decisions() -> None:
    ledger = conversation_ledger("Make it immutable, and I don't want a currency field.", "Done.")
    assert len(ledger.decisions) == 2


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("Let's use Redis for the sessions.", "Actually, use Postgres for the sessions."),
        ("Let's use Redis.", "I changed my mind: no Redis, let's go with Postgres instead."),
        ("Give up after 8 attempts.", "make it 12 attempts instead of 8"),
        ("Let's pin numpy to 1.26.", "No, let's not pin numpy then."),
        ("Use exifr, it is smaller.", "exifr can't read HEIC. Switch to exiftool."),
        ("We'll deploy with Helm.", "On second thought, drop Helm and use plain manifests."),
    ],
)
def test_a_decision_is_reversed(first: str, then: str) -> None:
    ledger = conversation_ledger(first, "Done.", "Add a test.", "Done.", then, "Done.")
    assert [d.reversed_by for d in ledger.decisions if d.turn == 1] == [3]
    assert all(d.reversed_by is None for d in ledger.decisions if d.turn == 3)


def test_a_decision_about_another_matter_reverses_nothing() -> None:
    ledger = conversation_ledger(
        "Let's use Redis.", "Done.", "Use tabs instead of spaces.", "Done."
    )
    assert [d.reversed_by for d in ledger.decisions] == [None, None]


def test_code_and_quotes_are_no_decisions() -> None:
    said = "Why does this fail?\n```\n# let's use the cache\nuse(x)\n```\n> let's use Redis"
    assert conversation_ledger(said, "Because.").decisions == ()
