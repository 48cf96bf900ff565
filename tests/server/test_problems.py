"""Problems say what the reader of an HTTP answer can do: they have no shell and no keys there."""

import logging
import re

import pytest

from sapwood.core.errors import LogError, SapwoodError
from sapwood.core.refusals import Refusal
from sapwood_server.problems import problem_of, refusal_problem
from tests.core.test_refusals import REASONS, example

AT_THE_MACHINE = re.compile(r"\b[Tt]ype:? (?!it in the terminal)|\bpress\b|\bsapwood [a-z]")


@pytest.mark.parametrize("kind", REASONS, ids=lambda kind: kind.__name__)
def test_a_refusal_names_no_key_and_nothing_to_type_in_a_shell(kind: type[Refusal]) -> None:
    detail = refusal_problem(example(kind)).detail
    if kind.__name__ == "FolderNotAllowed":
        assert "ask the server's operator" in detail
    else:
        assert not AT_THE_MACHINE.search(detail)


@pytest.mark.parametrize("kind", [SapwoodError, LogError])
def test_what_to_type_in_a_shell_goes_to_the_log(
    kind: type[SapwoodError], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "sapwood.server"):
        problem = problem_of(kind("It has no driver. Type: pip install 'sapwood[postgres]'"))
    assert problem.detail == (
        "It has no driver. Ask the server's operator to fix this; the server log says how."
    )
    assert "pip install" in caplog.text
