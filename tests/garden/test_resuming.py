"""A resumption prompt tells what matters most, within its budget."""

from sapwood.garden import resumption_prompt
from sapwood.tokens import FeatureCounter
from tests.garden.sessions import Ran, asked, session

WORK = session(
    asked("Add OAuth.", Ran("Write", '{"file_path": "/srv/shop/oauth.py"}', "ok"), "Done."),
    asked("Now the tests.", "Which ones?"),
)


def test_it_has_the_sections_of_a_resumption() -> None:
    prompt = resumption_prompt(WORK, FeatureCounter())
    titles = [line for line in prompt.splitlines() if line.startswith("#")]
    assert titles == [
        "## Session Resumption",
        "### Key Context",
        "### Open Items",
        "### Current Focus",
    ]


def test_it_keeps_to_its_budget() -> None:
    counter = FeatureCounter()
    assert counter.count(resumption_prompt(WORK, counter, budget=20)).tokens <= 20
