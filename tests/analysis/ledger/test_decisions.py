"""Which sentences are decisions, and what is left open."""

import pytest

from sapwood.analysis.ledger.entries import Ledger
from sapwood.analysis.ledger.ledger_builder import ledger_of
from tests.analysis.sessions import asked, session


def conversation_ledger(*texts: str) -> Ledger:
    """Returns the ledger of a conversation; user and model speak in turn, the user first."""
    pairs = zip(texts[::2], (*texts[1::2], ""), strict=False)
    return ledger_of(session(*(asked(prompt, reply) for prompt, reply in pairs)))


def decided(*said: str) -> list[tuple[str, str]]:
    return [(d.text, d.about) for d in conversation_ledger("Go on.", *said, "Done.").decisions]


@pytest.mark.parametrize(
    "sentence",
    [
        "Let's use Postgres for this.",
        "let's go with option B",
        "We'll stick with REST.",
        "Use bcrypt, not md5.",
        "use tabs instead of spaces in the Makefile",
        "Don't add any new dependencies.",
        "never log the token",
        "Keep the old endpoint for one release.",
        "No external services in tests.",
        "Make it configurable.",
        "ok, then drop the XML export",
        "Skip Windows support for v1.",
        "Actually, use Postgres for the sessions.",
    ],
)
def test_an_imperative_of_choice_is_a_decision(sentence: str) -> None:
    assert decided("Fine.", sentence) == [(sentence, "")]


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
        "keep going",
        "never mind",
        "I have never used Kubernetes.",
        "Write a README and commit.",
        "Don't forget the changelog.",
        "keine ahnung warum das nicht geht",
        "peux-tu regarder pourquoi le test échoue",
    ],
)
def test_a_request_a_question_or_a_report_is_no_decision(sentence: str) -> None:
    assert decided("Done.", sentence) == []


@pytest.mark.parametrize(
    ("asked_for", "answer"),
    [
        ("Should it live in memory or on disk?", "on disk"),
        ("Version 001.08 or 001.02?", "001.08"),
        ("Snap raster: 15, 30 or 60 minutes?", "30"),
        ("How low may it go, and how many days should we keep?", "6 days"),
        ("Konto oder Telefonnummer?", "telefonnummer reicht."),
        ("Cookie, storage or address?", "The third one please."),
        ("Keep it or drop it?", "b"),
    ],
)
def test_an_answer_carries_what_it_answers(asked_for: str, answer: str) -> None:
    assert decided(f"Done. {asked_for}", answer) == [(answer, asked_for)]


@pytest.mark.parametrize(
    ("asked_for", "answer"),
    [
        ("How should token refresh work in offline mode?", "Token expiry: 15 minutes."),
        ("How many workloads use the node?", "too many, like 15."),
        ("Who owns that host?", "web team owns it."),
        ("Should I prepare a mail?", "God."),
        ("Shall I run the tests?", "yes please"),
        ("Version 001.08 or 001.02?", "what do the others use, 001.08?"),
        ("The store could be Redis or Postgres.", "fine"),
    ],
)
def test_a_short_reply_without_a_choice_decides_nothing(asked_for: str, answer: str) -> None:
    assert decided(asked_for, answer) == []


def test_what_was_pasted_and_what_repeats_the_agent_decides_nothing() -> None:
    pasted = "Why does this fail?\n```\n# let's use the cache\nuse(x)\n```\n> let's use Redis"
    assert decided("Done.", pasted) == []
    assert decided("Use the cache for that.", "Use the cache for that.") == []


def test_the_same_question_answered_again_takes_the_answer_back() -> None:
    question = "Should invoices use reportlab or weasyprint?"
    ledger = conversation_ledger(
        "Make the invoices.", question, "weasyprint", f"No. {question}", "reportlab", "Ok."
    )
    assert [(d.text, d.reversed_by) for d in ledger.decisions] == [
        ("weasyprint", 3),
        ("reportlab", None),
    ]


def test_two_answers_in_one_prompt_both_stand() -> None:
    question = "Should the importer skip or refuse unknown columns, and log or drop them?"
    ledger = conversation_ledger("Go.", question, "skip unknown columns. log them.", "Ok.")
    assert [d.reversed_by for d in ledger.decisions] == [None, None]


@pytest.mark.parametrize(
    "left",
    [
        "I have to ask Tomas first.",
        "that's Signe's call, I'll ask her on thursday",
        "not telling finance yet, sanne decides",
        "frag ich in der sitzung",
        "Let me sleep on whether the reminders go out.",
        "We look at the numbers in two weeks and then decide.",
    ],
)
def test_what_is_left_to_somebody_or_to_later_decides_nothing(left: str) -> None:
    question = "Shall I draft the postmortem, or do we use the call with Tomas on the numbers?"
    ledger = conversation_ledger("Go on.", f"Done. {question}", left, "OK.")
    assert ledger.decisions == ()
    assert ledger.questions == ()  # only a note or a judge makes it an open question


def test_what_a_rewind_left_behind_was_not_said() -> None:
    turns = (asked("Go.", "Done."), asked("Use Redis for it.", "Ok."), asked("Go on.", "Done."))
    work = session(*turns)
    assert [(d.text, d.turn) for d in ledger_of(work).decisions] == [("Use Redis for it.", 2)]
    rewound = type(work)(*(work.source, work.id), turns=turns, abandoned=(1,))
    assert ledger_of(rewound).decisions == ()
