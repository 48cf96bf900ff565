"""Tools of MCP servers have names that every provider accepts."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.app.assembly import server_toolboxes
from sapwood.app.mcp_servers import server_states
from sapwood.config.config_file import parse_config
from sapwood.config.server_names import server_name_problems
from sapwood.workspace.mcp_client.mcp_toolbox import ToolChoice, tool_names

TOOLS = st.lists(st.text(st.sampled_from("ab._-/é "), min_size=1, max_size=100), max_size=6)


@given(st.text(st.sampled_from("xy.-"), min_size=1, max_size=50), TOOLS)
def test_every_name_is_short_plain_and_its_own(server: str, tools: list[str]) -> None:
    names = tool_names(server, tools)
    assert set(names) == set(tools)
    assert len(set(names.values())) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in names.values())


@given(TOOLS)
def test_names_do_not_depend_on_the_order_in_which_tools_are_listed(tools: list[str]) -> None:
    forth, back = tool_names("wood", tools), tool_names("wood", tools[::-1])
    assert list(forth.items()) == list(back.items())


SERVERS = st.lists(
    st.text(st.sampled_from("ab_-."), min_size=1, max_size=5), max_size=4, unique=True
)


@given(SERVERS, st.lists(st.text(st.sampled_from("ab_-"), min_size=1, max_size=8), max_size=8))
def test_no_tool_of_a_server_has_the_name_of_a_tool_of_another(
    servers: list[str], tools: list[str]
) -> None:
    usable = [name for name in servers if name not in server_name_problems(servers)]
    shown = [name for server in usable for name in tool_names(server, tools).values()]
    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (("a", "a__b"), {"a__b": "its name contains '__'"}),
        (("b", "a._b"), {"a._b": "its name contains '__'"}),
        (("a_", "a"), {"a_": "its tools could have the same names as those of 'a'"}),
        (("a.b", "a_b"), {"a_b": "its tools could have the same names as those of 'a.b'"}),
        (("a_", "b_"), {}),
    ],
)
def test_only_a_server_that_could_pose_as_another_is_refused(
    names: list[str], told: dict[str, str]
) -> None:
    found = server_name_problems(names)
    assert found.keys() == told.keys()
    assert all(found[name].startswith(told[name]) for name in told)


async def test_a_server_with_a_bad_name_has_no_tools_and_the_others_are_used() -> None:
    text = "".join(f"[servers.{name}]\ncommand = ['/no/such']\n" for name in ("a", "a__b"))
    servers = parse_config(text, Path("config.toml")).servers
    _, bad = server_toolboxes(servers)
    assert not await bad.specs()
    assert bad.trouble == (
        "MCP server 'a__b' is not used: its name contains '__', so a tool of another server could "
        "have the name of one of its tools. Rename it, also in your permission rules."
    )
    states = {each.name: each.says for each in await server_states(servers)}
    assert states["a__b"] == bad.trouble
    assert "/no/such" in states["a"]


def test_a_tool_whose_name_needs_no_change_has_it() -> None:
    names = tool_names("s", ["x.y", "x_y", "x y", "x_y_12345678"])
    assert (names["x_y"], names["x_y_12345678"]) == ("s__x_y", "s__x_y_12345678")
    assert len(set(names.values())) == 4


@pytest.mark.parametrize(
    "posing",
    ["delete.all", "delete_all ", "Delete_All", "delete\u200b_all", "ｄelete_all", "delete\nall"],
)
def test_a_disabled_tool_is_not_offered_under_a_name_that_looks_alike(posing: str) -> None:
    choice = ToolChoice(disabled=("delete_all",))
    offered = [name for name in ("delete_all", posing, "delete-all") if choice.offers(name)]
    assert offered == ["delete-all"]
    assert not ToolChoice(enabled=("delete_all",)).offers(posing)


def test_a_name_that_a_server_chose_cannot_forge_a_line() -> None:
    choice = ToolChoice(enabled=("search",))
    told = choice.problem("docs", ["search\nX", "s\nFORGED: ok", "x" * 500, "\u202eok", "plain"])
    assert "Did you mean 'search\\nX'?" in told
    assert "It has plain, 's\\nFORGED: ok', 'search\\nX', 'xxx" in told
    assert told.isprintable()
    assert len(told) < 500
    assert choice.problem("docs", [f"tool{number}" for number in range(5000)]).endswith(
        " and 4,970 more."
    )
