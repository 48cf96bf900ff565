"""Tools of MCP servers have names that every provider accepts."""

import re

from hypothesis import given
from hypothesis import strategies as st

from sapwood.workspace.mcp_client.mcp_toolbox import tool_names

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
