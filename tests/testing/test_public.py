"""What `sapwood.testing` gives to authors of tests is a list that changes on purpose."""

import subprocess
import sys

import pytest

from sapwood import testing
from sapwood.testing import scripted

PUBLIC = ["NoTools", "PlannedModel", "ScriptedModel", "World", "slash"]
SCRIPTED = "Asked Logged Rejection Reply ScriptedModel Tool call fail say think".split()


def test_the_list_of_public_names_changes_on_purpose() -> None:
    assert testing.__all__ == PUBLIC
    assert dir(testing) == PUBLIC
    assert scripted.__all__ == SCRIPTED


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_and_explained(name: str) -> None:
    assert (getattr(testing, name).__doc__ or "").strip()


def test_the_scripted_model_is_one_class_wherever_it_is_imported_from() -> None:
    assert testing.ScriptedModel is scripted.ScriptedModel


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'sapwood\.testing' has no attribute 'Tree'"):
        getattr(testing, "Tree")  # noqa: B009 - the name is for the interpreter alone


def test_the_server_is_imported_when_it_is_used() -> None:
    script = "import sys, sapwood.testing; print('sapwood.testing.scripted' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout == "False\n"
