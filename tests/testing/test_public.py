"""The list of names that `sapwood.testing` exports changes on purpose."""

import pytest

from sapwood import testing

PUBLIC = ["CoreHarness", "FakeModel", "NoTools", "slash"]


def test_the_list_of_public_names_changes_on_purpose() -> None:
    assert testing.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_is_there_and_explained(name: str) -> None:
    assert (getattr(testing, name).__doc__ or "").strip()
