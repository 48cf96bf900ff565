"""A resumption prompt contains the most important facts within its budget."""

import pytest
from msgspec import structs

from sapwood.analysis.ledger.entries import Question
from sapwood.analysis.ledger.ledger_builder import ledger_of
from sapwood.analysis.resumption import resumption_prompt
from sapwood.analysis.session import Session, TopicArchive
from sapwood.core.turn import Turn
from sapwood.tokens.estimators import FeatureCounter
from tests.analysis.sessions import ToolRun, asked, session

COUNTER = FeatureCounter()
FAILED = "FAILED tests/test_oauth.py::test_refresh\n1 failed in 1s"
WORK = session(
    asked(
        "Add OAuth login.",
        ToolRun("Read", '{"file_path": "/srv/shop/app.py"}', "x"),
        ToolRun("Write", '{"file_path": "/srv/shop/oauth.py", "content": "a\\nb\\n"}', "created"),
        ToolRun("Edit", '{"file_path": "app.py", "old_string": "x", "new_string": "y\\nz"}'),
        ToolRun("Bash", '{"command": "rm old.py"}'),
        "Done. Should tokens live in a cookie or in the session?",
    ),
    asked("Let's use PKCE for the flow.", "Fine. Which providers do we need at first?"),
    asked(
        "I'll ask Lena.",
        "Fine.",
    ),
    asked(
        "Now the tests.\nAll of them, please.",
        ToolRun("Bash", '{"command": "pytest -q"}', f"Exit code 1\n{FAILED}", error=True),
        "One test fails: test_refresh.",
    ),
)
LEFT_OPEN = Question("I'll ask Lena.", 3, "user", "Which providers do we need at first?")
LEDGER = structs.replace(ledger_of(WORK), questions=(LEFT_OPEN,))


def test_it_has_the_sections_of_a_resumption() -> None:
    lines = resumption_prompt(WORK, COUNTER).splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "## Session Resumption",
        "### Key Context",
        "### Open Items",
        "### Current Focus",
    ]
    assert lines[2] == "Previous work on: Add OAuth login."


@pytest.mark.parametrize(
    "fact",
    [
        "- Files created: oauth.py (+2)",
        "- Files changed: app.py (+2 −1)",
        "- Files deleted: old.py",
        "- Decision: Let's use PKCE for the flow. (turn 2)",
        "- Failing: `pytest -q`: tests/test_oauth.py::test_refresh (turn 4)",
        "- Open question: Which providers do we need at first? → I'll ask Lena. (turn 3)",
        "  > Now the tests.\n  > All of them, please.",
        "Previous work on: Add OAuth login.",
        "- Last reply: One test fails: test_refresh.",
    ],
)
def test_it_contains_each_fact(fact: str) -> None:
    assert fact in resumption_prompt(WORK, COUNTER, ledger=LEDGER)


@pytest.mark.parametrize("budget", [0, 1, 20, 60, 100, 150, 200, 400])
def test_it_keeps_to_its_budget(budget: int) -> None:
    assert COUNTER.count(resumption_prompt(WORK, COUNTER, budget=budget)).tokens <= budget


def test_a_small_budget_keeps_the_most_important_facts() -> None:
    prompt = resumption_prompt(WORK, COUNTER, budget=90)
    assert "> All of them, please." in prompt
    assert "test_refresh" in prompt
    assert "Last reply" not in prompt


def test_a_huge_request_is_cut_in_its_middle() -> None:
    huge = session(asked("begin " + "word " * 20_000 + "end"))
    prompt = resumption_prompt(huge, COUNTER, budget=400)
    assert "begin" in prompt
    assert prompt.count("[…]") >= 1
    assert "end" in prompt.splitlines()[-1]


def test_focus_names_the_work() -> None:
    prompt = resumption_prompt(WORK, COUNTER, focus=["OAuth for mobile", "tests"])
    assert "Previous work on: OAuth for mobile" in prompt
    assert "- In focus: tests" in prompt


def test_a_decision_that_was_taken_back_is_not_in_it() -> None:
    question = "Should sessions live in Redis or in Postgres?"
    turned = session(
        asked("Add sessions.", question),
        asked("in Redis", f"It is down. {question}"),
        asked("in Postgres then", "Ok."),
        asked("Go on.", "Done."),
    )
    prompt = resumption_prompt(turned, COUNTER)
    assert f"- Decision: {question} → in Postgres then (turn 3)" in prompt
    assert "in Redis (" not in prompt


def test_what_was_rewound_is_not_in_it() -> None:
    risky = asked(
        "Use the risky way. I'll ask Tomas about it.",
        ToolRun("Write", '{"file_path": "risky.py", "content": "a"}', "created"),
        "The risky way is done.",
    )
    turns = (asked("Add OAuth login.", "Done."), risky, asked("Now the tests.", "Done."))
    for recap in (False, True):
        whole = resumption_prompt(session(*turns), COUNTER, is_recap=recap)
        assert "risky" in whole
        work = type(WORK)(WORK.source, WORK.id, turns=turns, abandoned=(1,))
        assert "risky" not in resumption_prompt(work, COUNTER, is_recap=recap)
    last = type(WORK)(WORK.source, WORK.id, turns=turns[:2], abandoned=(1,))
    assert "risky" not in resumption_prompt(last, COUNTER)


def test_requests_that_were_answered_are_only_in_a_recap() -> None:
    def cut_off(prompt: str) -> Turn:
        return structs.replace(asked(prompt), status="interrupted")

    work = session(
        asked("Add OAuth login.", "Done."),
        cut_off("wait, not there"),
        asked("Rename the login page too.", "Done."),
        cut_off("Write the changelog."),
        cut_off("Run the tests."),
    )
    prompt = resumption_prompt(work, COUNTER)
    assert "- Asked in turn 4, not finished: Write the changelog." in prompt
    assert "Rename the login page" not in prompt
    assert "not there" not in prompt
    assert "- Asked in turn 3: Rename" in resumption_prompt(work, COUNTER, is_recap=True)


def test_an_archive_replaces_a_missing_session() -> None:
    kept = TopicArchive(
        "OAuth",
        "2026-01-02T03:04:05Z",
        "old",
        decisions=("PKCE it is",),
        files=("oauth.py (created)",),
        questions=("Which providers?",),
        excerpt="User: Add OAuth.\n\nAgent: Done.\n\nUser: And the tests?",
    )
    prompt = resumption_prompt(Session("claude-code", "new"), COUNTER, archives=[kept])
    for fact in ("PKCE it is", "oauth.py (created)", "Which providers?", "  > And the tests?"):
        assert fact in prompt
    assert "Previous work on: OAuth" in prompt


def test_a_decision_stands_after_what_it_answers() -> None:
    asked_and_answered = session(
        asked("Add a cap.", "Per user or per tenant?"), asked("per tenant", "Done.")
    )
    assert "- Decision: Per user or per tenant? → per tenant (turn 2)" in resumption_prompt(
        asked_and_answered, COUNTER
    )


def test_pastes_are_not_told() -> None:
    chatted = session(
        asked("Add OAuth login to the shop.", "Done."),
        asked("why?\n2026-01-02 10:00:01 GET /secret/path 500\n2026-01-02 10:00:02 boom", "A bug."),
        asked("Fix it then.", "Fixed."),
    )
    prompt = resumption_prompt(chatted, COUNTER, is_recap=True)
    assert "GET /secret" not in prompt


def test_what_is_in_view_is_not_told() -> None:
    prompt = resumption_prompt(WORK, COUNTER, in_view={2, 3}, ledger=LEDGER)
    assert "PKCE for the flow. (turn 2)" not in prompt
    assert "Open question" not in prompt
    assert "- Files created: oauth.py (+2)" in prompt
