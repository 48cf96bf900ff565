"""The list of names that `scripted_model` exports changes on purpose."""

import pytest

import scripted_model

PUBLIC = (
    "LoggedRequest Message ModelRequest PartLike Rejection Reply ReplyLike ScriptedModel Text "
    "Thinking Tool ToolCall ToolResult call fail say think"
).split()
ALIASES = {"PartLike", "ReplyLike"}


def test_the_list_of_public_names_changes_on_purpose() -> None:
    assert scripted_model.__all__ == PUBLIC


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - ALIASES))
def test_a_public_name_has_a_docstring_with_an_example(name: str) -> None:
    assert ">>>" in (getattr(scripted_model, name).__doc__ or "")
