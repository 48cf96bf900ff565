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


def decided(*said: str) -> list[tuple[str, str]]:
    return [(d.text, d.about) for d in conversation_ledger("Go on.", *said, "Done.").decisions]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("There are two ways: reportlab or WeasyPrint. Which one fits?", "weasyprint"),
        ("Version 001.08 or 001.02?", "08"),
        ("Snap raster: 15, 30 or 60 minutes?", "30"),
        ("Which length do you want?", "64 chars."),
        ("How low may the retention go?", "6h"),
        ("Either system max 2 per zone, or 3 replicas.", "2 per zone."),
        ("Welches Raster: 15, 30 oder 60 Minuten?", "30"),
        ("Konto oder Telefonnummer?", "telefonnummer reicht. konto will keiner"),
        ("Wait for the attribute, or disable the animation?", "the former"),
        ("Cookie, storage or address? I would take the address.", "The third one please."),
    ],
)
def test_an_answer_carries_what_it_answers(asked: str, answer: str) -> None:
    ((text, about),) = decided(asked, answer)
    assert (text in answer, about in asked) == (True, True)
    assert about


@pytest.mark.parametrize(
    ("proposal", "yes"),
    [
        ("Scale it to 12?", "ja mach"),
        ("I suggest taking the version from Cargo.toml.", "sounds right, do that"),
        ("A rollback to 86 would fix it.", "rollback"),
        ("Ich würde auf zwei Worker gehen.", "ok mach"),
    ],
)
def test_a_yes_takes_the_proposal(proposal: str, yes: str) -> None:
    ((text, about),) = decided(f"It is slow. {proposal}", yes)
    assert proposal in (text, about)


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("How many workloads use the node?", "too many, like 15."),
        ("Who owns that host?", "web team owns it, I'll open a ticket."),
        ("Was it SEV2 or SEV1?", "SEV in a second. Who set that scope?"),
        ("Should I prepare a mail?", "God."),
        ("Version 001.08 oder 001.02?", "was nehmen die"),
        ("Shall I find out which?", "verdammt. yes. how much"),
        ("Done.", "not telling finance yet, sanne decides"),
        ("Done.", "Don't write code yet."),
    ],
)
def test_facts_sighs_and_counter_questions_decide_nothing(asked: str, answer: str) -> None:
    assert decided(asked, answer) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "lieber abbrechen mit fehler",
        "doch behalten, die ci braucht das",
        "also reportlab, das andere geht nicht",
        "wir nehmen sqlite",
        "erstmal nur kassierer",
        "mitgliedsnr reicht als referenz",
        "es bleibt sqlite",
    ],
)
def test_german_choices_are_decisions(sentence: str) -> None:
    assert [text for text, _ in decided("Das geht mit beiden.", sentence)] == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "schau dir erstmal die tests an",
        "wie lange dauert das",
        "keine ahnung warum das nicht geht",
        "vpn weg. moment",
        "so ein mist.",
        "das ist mir gestern auch passiert",
        "peux-tu regarder pourquoi le test échoue",
        "el servidor no responde desde ayer",
    ],
)
def test_other_languages_give_fewer_claims_not_wrong_ones(sentence: str) -> None:
    assert decided("Das ist erledigt.", sentence) == []


def test_a_dictated_paragraph_gives_its_choices_readable_alone() -> None:
    said = (
        "So what I want is a wizard kind of thing and I think it should be, I don't know, four "
        "steps, no honestly let's do three because every step loses people, and the invite a "
        "colleague thing I talked about the other day, leave that out, that goes elsewhere later."
    )
    found = [text for text, _ in decided("Done.", said)]
    assert any("let's do three" in text for text in found)
    assert any("leave that out" in text for text in found)
    assert not any("four steps" in text and "three" not in text for text in found)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("cordon general NOW so new pods go to default", "Cordon default tonight? no, leave it."),
        ("slash welcome is fine, do it like that", "I'd rather have three dots, not Step 1 of 3"),
        ("15 minutes then, and yes rotation on.", "no, keep 15 minutes."),
        ("use dots for the progress", "We said dots, no steps! use the native input instead"),
    ],
)
def test_another_question_takes_nothing_back(first: str, then: str) -> None:
    ledger = conversation_ledger(first, "Done.", "go on", "Done.", then, "Done.")
    assert [d.reversed_by for d in ledger.decisions if d.reversed_by] == []


def test_the_same_question_answered_again_takes_the_answer_back() -> None:
    asked = "How low may the retention of the topic go?"
    ledger = conversation_ledger("Go.", asked, "6h", "Done.", "24h then. not 6", "Done.")
    first = ledger.decisions[0]
    assert (first.text, first.reversed_by) == ("6h", 3)


def reversed_turns(*said: str) -> list[int | None]:
    """The turn that reversed each decision of a conversation, given as prompts and replies."""
    return [each.reversed_by for each in conversation_ledger(*said).decisions]


def test_a_withdrawal_takes_back_the_decision_of_the_turn_before() -> None:
    assert reversed_turns(
        "Let's use twenty workers for the morning.",
        "Done.",
        "wait no. too tight. revert that",
        "Ok.",
    ) == [2]


def test_a_withdrawal_of_something_older_or_of_one_of_two_takes_back_nothing() -> None:
    assert reversed_turns(
        *("Let's use twenty workers.", "Done.", "How many are there?", "Twenty."),
        *("revert that", "Ok."),
    ) == [None]
    assert reversed_turns(
        "Let's use twenty workers. Keep the old queue for one release.",
        "Done.",
        "revert that",
        "Ok.",
    ) == [None, None]


def test_the_other_value_of_the_same_offer_takes_the_first_one_back() -> None:
    offer = "For the PDFs we can use reportlab or weasyprint. Which one?"
    ledger = conversation_ledger(
        "Make the invoices.", offer, "weasyprint", "It needs libraries.", "Reportlab it is.", "Ok."
    )
    first = ledger.decisions[0]
    assert (first.text, first.reversed_by) == ("weasyprint", 3)


def test_what_was_switched_on_is_taken_back_by_off() -> None:
    assert (
        reversed_turns("silence disk alert 2h", "Ok.", "silence off, the disk is fine", "Ok.")[0]
        == 2
    )


def test_a_plain_no_takes_back_the_same_thing_of_the_turn_before() -> None:
    said = ("Sizes for prod: system 1..3, general 4..24, batch 0..10.", "Per zone or in all?")
    found = reversed_turns(*said, "no. 2..8 for general then, 0..4 batch, 1..1 system", "Ok.")
    assert found[0] == 2
