"""Paths of the machine in commands: every one is typed as such, so that one check finds it."""

import re
from typing import Annotated, get_args, get_type_hints

import pytest
from msgspec import Struct

from sapwood.core import commands as core
from sapwood.core.commands import Command
from sapwood.core.ids import AgentId, Origin
from sapwood.core.machine_paths import MachinePath, declared_paths, found_paths, structs_in
from sapwood.core.settings import Workspace

_LOOKS_LIKE_PATH = re.compile(
    r"(^|_)(paths?|folders?|worktree|dir(ectory)?|cwd|root|file(name)?|home)$"
)
_RELATIVE = {("LeftOut", "path")}
"""What a checkpoint did not hold: a path inside of its folder, shown and never opened."""


def untyped_paths(kind: type[Struct]) -> list[str]:
    """Fields that are called like a path and are plain text."""
    return [
        f"{each.__name__}.{name}"
        for each in structs_in(kind)
        for name, hint in get_type_hints(each, include_extras=True).items()
        if _LOOKS_LIKE_PATH.search(name)
        and str in (hint, *get_args(hint))
        and (each.__name__, name) not in declared_paths(each) | _RELATIVE
    ]


@pytest.mark.parametrize("kind", get_args(Command), ids=lambda kind: kind.__name__)
def test_every_field_of_a_command_that_is_called_like_a_path_is_typed_as_one(
    kind: type[Struct],
) -> None:
    assert untyped_paths(kind) == []


def test_a_command_with_a_path_that_is_plain_text_is_found() -> None:
    class Inner(Struct):
        cwd: str = ""

    class OpenFolder(Struct):
        agent: AgentId
        target_folder: str
        other: Annotated[str, "any"] = ""
        inner: tuple[Inner, ...] = ()
        fit_path: MachinePath = ""

    assert sorted(untyped_paths(OpenFolder)) == ["Inner.cwd", "OpenFolder.target_folder"]


def test_paths_are_found_however_deep_they_are() -> None:
    class Deep(Struct):
        origins: tuple[Origin, ...]
        extra: tuple[MachinePath, ...] = ()
        maybe: MachinePath | None = None

    deep = Deep((Origin("codex", "s", "/a"), Origin("codex", "t")), ("/b",), "/c")
    assert [each.path for each in found_paths(deep)] == ["/b", "/c", "/a"]


def test_a_worktree_and_an_origin_are_paths_too() -> None:
    agent = AgentId("a")
    started = core.StartAgent(agent, workspace=Workspace("/x", "/y"), origin=Origin("p", "s", "/z"))
    assert {each.path for each in found_paths(started)} == {"/x", "/y", "/z"}
    forked = core.Fork(agent, AgentId("b"), workspace=Workspace(worktree="/y"))
    assert [(each.field, each.path) for each in found_paths(forked)] == [("worktree", "/y")]
    assert list(found_paths(core.SetMark(agent, "/etc"))) == []
