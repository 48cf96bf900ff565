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


@pytest.mark.parametrize("prompt", ["lol", "thanks!", "Why does the build fail?"])
def test_other_words_leave_it_open(prompt: str) -> None:
    asked = "Should the cap be per user or per tenant?"
    assert open_questions("Add a cap.", asked, prompt, "Done.") == [asked]


def test_people_who_ask_for_other_work_have_moved_on() -> None:
    asked = "Should the cap be per user or per tenant?"
    assert open_questions("Add a cap.", asked, "Now write the docs for it.", "Done.") == []


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
    (left,) = conversation_ledger(
        f"{asked} I need to ask accounting.", "Per line for now."
    ).questions
    assert (left.text, left.about) == ("I need to ask accounting.", asked)
    said = (asked, "Per line at the moment.", "Not sure about that, I'll ask accounting.", "Fine.")
    (left,) = conversation_ledger(*said).questions
    assert (left.text, left.about) == ("Not sure about that, I'll ask accounting.", asked)


@pytest.mark.parametrize(
    "left",
    [
        "I have to ask Tomas first.",
        "that's Signe's call, I'll ask her on thursday",
        "not telling finance yet, sanne decides",
        "frag ich in der sitzung",
        "weiß ich noch nicht, klär ich mit dem steuerberater",
        "muss ich den chef fragen",
        "Let me sleep on whether the reminders go out.",
        "tmrw w/ sanne",
        "We look at the numbers in two weeks and then decide.",
        "I would have to ask my colleague how she wants them written.",
    ],
)
def test_what_is_left_to_somebody_or_to_later_is_open(left: str) -> None:
    asked = "Shall I draft the postmortem?"
    (found,) = conversation_ledger("Go on.", f"Done. {asked}", left, "OK.").questions
    assert (found.text, found.by, found.about) == (left, "user", asked)


def test_coming_back_to_a_matter_closes_it() -> None:
    left = "Let me sleep on whether the reminders still go out."
    back = "And the reminders, I slept on it. They stop."
    assert open_questions("Go on.", "Done.", left, "OK.", back, "Done.") == []


def test_thinking_aloud_leaves_nothing_open() -> None:
    said = "I think it should be, I don't know, four steps, no honestly let's do three."
    assert open_questions(said, "Done.") == []


def test_a_polite_request_is_no_question() -> None:
    assert open_questions("Could you add a test?", "I can't find the parser.") == []


def test_a_question_that_the_model_answers_itself_is_not_open() -> None:
    assert open_questions("Fix it.", "Why does it fail? The path is wrong. I fixed it.") == []


def test_questions_about_one_matter_are_joined() -> None:
    said = "Which key does the table have? Is it the SKU alone?"
    assert open_questions(said, "That is a business decision.") == [said]
