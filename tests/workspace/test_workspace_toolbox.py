"""The toolbox of the workspace: its tools, their arguments, and several toolboxes as one."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from sapwood.core.model_calls import Effect, ToolOutcome, ToolSpec, ToolUse
from sapwood.turns.tool_calls import Toolbox
from sapwood.workspace.combined_toolbox import CombinedToolbox
from sapwood.workspace.programs import environment_for_tools
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.workspace.tool_calls import ToolWorkspace, use_of


async def test_the_tools_are_offered_in_the_same_order_at_every_time() -> None:
    first, second = await WorkspaceToolbox().specs(), await WorkspaceToolbox().specs()
    assert first == second
    names = "read_file list_files search_files write_file edit_file shell"
    assert [spec.name for spec in first] == names.split()


async def test_a_schema_is_tight_and_stays_as_it_is() -> None:
    """It is part of every request's cached beginning: a change is dear, and seen here."""
    shell = next(spec for spec in await WorkspaceToolbox().specs() if spec.name == "shell")
    assert shell.schema == (
        '{"type":"object","properties":{"command":{"type":"string","minLength":1},"timeout":'
        '{"description":"Seconds.","type":"integer","minimum":1,"maximum":3600,"default":120},'
        '"cwd":{"description":"A folder of the workspace.","type":"string","minLength":1,'
        '"default":"."},"needs":{"description":"What the sandbox has to open: network; protected, '
        "to write files that make programs run, such as .git/config; outside, for no sandbox. The "
        'user is asked.","type":"array","items":{"enum":["network","outside","protected"]},'
        '"default":[]},"background":{"description":"Keep it running after the turn, such as a '
        'server; see jobs.","type":"boolean","default":false}},'
        '"required":["command"],"additionalProperties":false}'
    )
    for spec in await WorkspaceToolbox().specs():
        schema = msgspec.json.decode(spec.schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert len(spec.description) < 90


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{}", "The call missing required field `path`. It takes path (required), offset, limit."),
        ('{"path": 3}', "Expected `str`, got `int` for `path`"),
        ('{"path": "a", "offset": 0}', "Expected `int` >= 1 for `offset`"),
        ('{"path": "a", "line": 1}', "The call contains unknown field `line`"),
        ('{"path": ', "The arguments are not JSON"),
        ("[]", "Expected `object`, got `array`"),
        ('{"path": "a", "offset": "x"}', "Expected `int`, got `str` for `offset`"),
    ],
)
async def test_wrong_arguments_are_answered_with_what_is_right(
    tmp_path: Path, arguments: str, told: str
) -> None:
    outcome = await WorkspaceToolbox().run(use_of("read_file", arguments, tmp_path))
    assert outcome.error
    assert outcome.content.startswith("read_file did not run. ")
    assert told in outcome.content
    assert "It takes path (required), offset, limit." in outcome.content


async def test_a_number_may_come_as_text(workspace: ToolWorkspace) -> None:
    workspace.put("a.txt", "a\nb\n")
    assert await workspace.done("read_file", path="a.txt", offset="2") == "     2\tb"


async def test_an_unknown_tool_is_answered_with_the_nearest(workspace: ToolWorkspace) -> None:
    assert "There is no tool raed_file. Try read_file or" in await workspace.refused("raed_file")
    assert "read_file, list_files" in await workspace.refused("zzz")


async def test_only_reading_has_no_effect(tmp_path: Path) -> None:
    box = WorkspaceToolbox()
    effects = {s.name: box.effect(use_of(s.name, "{}", tmp_path)) for s in await box.specs()}
    none = {name for name, effect in effects.items() if effect == "none"}
    assert none == {"read_file", "list_files", "search_files"}


async def test_a_file_that_the_system_refuses_is_told(workspace: ToolWorkspace) -> None:
    name = "x" * 300
    assert "cannot be opened: File name too long." in await workspace.refused(
        "read_file", path=name
    )
    assert "File name too long" in await workspace.refused("write_file", path=name, content="")


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("PATH", True),
        ("GITHUB_TOKEN", True),
        ("SAPWOOD_CONFIG", False),
        ("ANTHROPIC_AUTH_TOKEN", False),
        ("mistral_api_key", False),
        ("BASH_ENV", False),
        ("BASH_FUNC_ls%%", False),
    ],
)
def test_a_variable_is_passed_on_unless_it_is_a_key_for_models(name: str, kept: bool) -> None:
    assert (name in environment_for_tools({name: "x"})) is kept


def test_a_known_secret_is_not_passed_on_under_any_name() -> None:
    assert "A" not in environment_for_tools({"A": "s3cret", "B": "b"}, ["s3cret"])


class Box:
    """A toolbox that remembers."""

    def __init__(self, *names: str, broken: bool = False) -> None:
        self.names = names
        self.broken = broken
        self.ran: list[str] = []
        self.closed = False

    async def specs(self) -> Sequence[ToolSpec]:
        return [ToolSpec(name, f"{name} of {self.names}", "{}") for name in self.names]

    def effect(self, use: ToolUse) -> Effect:
        return "none"

    async def run(self, use: ToolUse) -> ToolOutcome:
        self.ran.append(use.call.name)
        return ToolOutcome("done")

    async def close(self) -> None:
        self.closed = True
        if self.broken:
            raise RuntimeError("stuck")


async def test_several_boxes_are_one_in_the_order_given(tmp_path: Path) -> None:
    one, two = Box("saw", "axe"), Box("axe", "plane")
    both: Toolbox = CombinedToolbox(one, two)
    assert [spec.name for spec in await both.specs()] == ["saw", "axe", "plane"]
    await both.run(use_of("axe", "{}", tmp_path))
    await both.run(use_of("plane", "{}", tmp_path))
    assert (one.ran, two.ran) == (["axe"], ["plane"])
    assert both.effect(use_of("plane", "{}", tmp_path)) == "none"


async def test_a_call_before_anybody_asked_what_there_is_finds_its_box(tmp_path: Path) -> None:
    both = CombinedToolbox(Box("saw"))
    assert both.effect(use_of("saw", "{}", tmp_path)) == "some"
    assert (await both.run(use_of("saw", "{}", tmp_path))).content == "done"


async def test_an_unknown_tool_of_all_boxes_is_told(tmp_path: Path) -> None:
    outcome = await CombinedToolbox(Box("saw")).run(use_of("swa", "{}", tmp_path))
    assert outcome == ToolOutcome("There is no tool swa. Did you mean saw?", error=True)


async def test_all_boxes_are_closed_whatever_happens_to_one() -> None:
    one, two = Box("saw", broken=True), Box("axe")
    with pytest.raises(RuntimeError, match="stuck"):
        await CombinedToolbox(one, two).close()
    assert two.closed
