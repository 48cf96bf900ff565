"""Which questions are open."""

import pytest

from tests.analysis.ledger.dialogue.dialogues import conversation_ledger


def open_questions(*said: str) -> list[str]:
    return [question.text for question in conversation_ledger(*said).questions]


def test_a_models_question_at_the_end_is_open() -> None:
    assert open_questions("Add a cap.", "Done. Should the cap be per user or per tenant?") == [
        "Should the cap be per user or per tenant?"
    ]


@pytest.mark.parametrize(
    "answer",
    ["per user", "Per tenant, please.", "yes", "the first", "both", "It should be per tenant."],
)
def test_an_answer_closes_it(answer: str) -> None:
    asked = "Should the cap be per user or per tenant?"
    assert open_questions("Add a cap.", asked, answer, "Done.") == []


@pytest.mark.parametrize(
    "prompt", ["Now write the docs for it.", "lol", "thanks!", "Why does the build fail?"]
)
def test_other_words_leave_it_open(prompt: str) -> None:
    asked = "Should the cap be per user or per tenant?"
    assert open_questions("Add a cap.", asked, prompt, "Done.") == [asked]


def test_an_answer_may_come_later() -> None:
    asked = "Should the cap be per user or per tenant?"
    said = ("Add a cap.", asked, "Fix the typo first.", "Done.", "The cap is per tenant.", "Done.")
    assert open_questions(*said) == []


@pytest.mark.parametrize(
    "offer",
    [
        "Shall I go on?",
        "Want me to commit this?",
        "Does that look right to you?",
        "Would you like me to add a test?",
        "Anything else?",
    ],
)
def test_an_offer_is_no_question(offer: str) -> None:
    assert open_questions("Fix it.", f"Fixed. {offer}") == []


def test_a_users_question_is_answered_by_the_reply() -> None:
    assert open_questions("Which port does it use?", "Port 8080.") == []


def test_a_reply_without_an_answer_leaves_a_question_open() -> None:
    asked = "Who owns the runner images?"
    assert open_questions(asked, "I can't see that from here.") == [asked]


def test_a_user_can_leave_a_question_open() -> None:
    asked = "Do we round per line or per invoice?"
    assert open_questions(f"{asked} I need to ask accounting.", "Per line for now.") == [asked]
    said = (asked, "Per line at the moment.", "Not sure about that, I'll ask accounting.", "Fine.")
    assert open_questions(*said) == [asked]


def test_a_polite_request_is_no_question() -> None:
    assert open_questions("Could you add a test?", "I can't find the parser.") == []


def test_a_question_that_the_model_answers_itself_is_not_open() -> None:
    assert open_questions("Fix it.", "Why does it fail? The path is wrong. I fixed it.") == []


def test_questions_about_one_matter_are_joined() -> None:
    said = "Which key does the table have? Is it the SKU alone?"
    assert open_questions(said, "That is a business decision.") == [said]
