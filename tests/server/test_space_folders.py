"""The folders of spaces: what a tenant's conversations can open, and what they cannot."""

import os
from collections.abc import Mapping
from pathlib import Path

import httpx2
import pytest
from msgspec import json, structs, to_builtins

from sapwood.app.assembly import programs_for, toolbox_for
from sapwood.app.connection import Connection
from sapwood.app.space_runners import space_folder
from sapwood.config.config_file import Config, McpServer
from sapwood.config.server_tokens import FileTokens, TokenStore
from sapwood.core import commands as core
from sapwood.core.commands import Command
from sapwood.core.content import ToolCall
from sapwood.core.ids import AgentId, Origin, Space
from sapwood.core.model_calls import Failure, ToolOutcome, ToolUse
from sapwood.core.settings import Workspace
from sapwood.turns.clock_and_ids import command_meta
from sapwood.turns.dispatch import Done
from sapwood.workspace.safe_paths import locate, open_file, root_of
from sapwood.workspace.sandbox import sandbox_problem
from sapwood.workspace.space_folder import SpaceFolder
from sapwood_server.access.identity import Identities
from sapwood_server.application import create_application
from sapwood_server.served_space import ServedSpaces
from tests.server.serving import Served

needs_bubblewrap = pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem() or "-")
FOUR_TOOLS = {"read_file", "list_files", "write_file", "shell"}


def hosted(connection: Connection, folders: Mapping[str, str] = {}, *, own: bool = False) -> Served:
    """A server for several spaces, with these folders."""
    config = Config(database=connection.address, folders=dict(folders))
    spaces = ServedSpaces(connection, config, {}, drives=False, own=own)
    tokens = TokenStore(Path("tokens.json"))
    identities = Identities(FileTokens(tokens), config.space)
    app = create_application(spaces, identities, ("127.0.0.1",))
    return Served(app, spaces, tokens, identities, connection)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the folders of two spaces and a secret beside them."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    for name in ("acme", "bolt", "home"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.txt").write_text(f"notes of {name}")
    (tmp_path / "secret.txt").write_text("the heron is blue")
    return tmp_path


async def give(client: httpx2.AsyncClient, command: Command) -> httpx2.Response:
    body = {"kind": type(command).__name__, "command": to_builtins(command)}
    return await client.post("/v1/dispatch", json=body)


async def use_tool(
    connection: Connection, config: Config, workspace: Workspace, tool: str, **arguments: str
) -> ToolOutcome:
    """Runs a tool for an agent of this workspace, as a worker does, with every permission."""
    call = ToolCall("c1", tool, json.encode(arguments).decode())
    use = ToolUse(AgentId("a"), workspace, call, "all")
    return await toolbox_for(config, connection.folder, space=connection.space).run(use)


async def tool_names(connection: Connection, config: Config) -> set[str]:
    return {
        each.name
        for each in await toolbox_for(config, connection.folder, space=connection.space).specs()
    }


async def test_a_conversation_of_a_hosted_space_has_no_folder_and_no_tools(
    connection: Connection, place: Path
) -> None:
    served = hosted(connection)
    async with served.client(space="acme") as client:
        started = await client.post("/v1/agents", json={"has_prompt": False})
        agent = started.json()["agent"]
    space = served.spaces.get("acme")
    state = (await space.connection.dispatcher.open(AgentId(agent))).state
    assert state.workspace == Workspace()
    assert not await tool_names(space.connection, Config()) & FOUR_TOOLS


async def test_the_own_space_on_this_machine_works_in_the_current_folder(
    connection: Connection, place: Path
) -> None:
    served = hosted(connection, own=True)
    async with served.client() as client:
        started = await client.post("/v1/agents", json={"has_prompt": False})
    home = served.spaces.get("local").connection
    state = (await home.dispatcher.open(AgentId(started.json()["agent"]))).state
    assert state.workspace == Workspace(str(place))
    assert await tool_names(home, Config()) >= FOUR_TOOLS
    other = served.spaces.get("acme").connection
    assert not await tool_names(other, Config()) & FOUR_TOOLS


def _foreign_workspaces(place: Path) -> list[Workspace]:
    acme = place / "acme"
    (acme / "up").symlink_to(place)
    (acme / "bolt").symlink_to(place / "bolt")
    (acme / "wide").mkdir()
    paths = [
        *("/", "/etc", str(place), str(place / "bolt"), f"{acme}/../bolt", f"{acme}/up"),
        *(f"{acme}/up/bolt", f"{acme}/bolt", f"{acme}x", "~", ".", "..", "acme", "../bolt"),
        *(f"{acme}\N{FULLWIDTH SOLIDUS}..", f"{place}/ACME", "//etc", "/proc/self/cwd/bolt"),
        *(os.path.join("/proc", str(os.getpid()), "root", "etc"), f"{acme}/wide/../../bolt"),
    ]
    inside = str(acme)
    return [
        *(Workspace(path) for path in paths),
        *(Workspace(inside, path) for path in paths),
        Workspace(inside, inside, "main"),
        Workspace(worktree=inside),
    ]


async def test_every_command_with_another_folder_is_refused_whatever_the_scopes_are(
    connection: Connection, place: Path
) -> None:
    served = hosted(connection, {"acme": str(place / "acme"), "bolt": str(place / "bolt")})
    async with served.client(space="acme") as client:
        started = await client.post("/v1/agents", json={"has_prompt": False, "folder": "wide"})
        agent = AgentId(started.json()["agent"])
        for number, workspace in enumerate(_foreign_workspaces(place)):
            fresh = AgentId(f"fresh{number}")
            for command in (
                core.StartAgent(fresh, workspace=workspace),
                core.Fork(agent, fresh, workspace=workspace),
            ):
                refused = await give(client, command)
                assert refused.status_code == 403, (workspace, refused.text)
                assert refused.json()["refusal"] == "FolderNotAllowed"
        for folder in ("/etc", "..", "up", "bolt", f"{place}/acme/../bolt", "~"):
            refused = await client.post("/v1/agents", json={"folder": folder, "has_prompt": False})
            assert refused.status_code == 403, (folder, refused.text)
        fit = core.StartAgent(AgentId("fit"), workspace=Workspace(str(place / "acme/wide")))
        assert (await give(client, fit)).is_success
        origin = core.StartAgent(AgentId("o"), origin=Origin("codex", "s", "/etc/passwd"))
        assert (await give(client, origin)).status_code == 403
    state = (await served.spaces.get("acme").connection.dispatcher.open(agent)).state
    assert state.workspace.folder == str(place / "acme/wide")


async def test_a_worker_uses_no_other_folder_for_a_conversation_that_is_in_the_log(
    connection: Connection, place: Path
) -> None:
    config = Config(folders={"acme": str(place / "acme")}, permissions=("allow shell",))
    tenant = connection.with_space("acme")
    stored = core.StartAgent(AgentId("old"), workspace=Workspace(str(place)))
    assert isinstance(await tenant.dispatcher.dispatch(stored, command_meta()), Done)
    tenant.folder = space_folder(config, "acme", own=False)
    for workspace in _foreign_workspaces(place):
        for tool, arguments in (
            ("read_file", {"path": "secret.txt"}),
            ("read_file", {"path": "notes.txt"}),
            ("write_file", {"path": "planted.txt", "content": "x"}),
            ("shell", {"command": "cat secret.txt notes.txt; touch planted.txt"}),
        ):
            done = await use_tool(tenant, config, workspace, tool, **arguments)
            assert done.error, (workspace, tool, done.content)
            assert "heron" not in done.content
            assert "bolt" not in done.content
    planted = [names for _, _, names in os.walk(place) if "planted.txt" in names]
    assert not planted


async def test_tools_of_a_space_open_nothing_outside_its_folder_with_any_permission(
    connection: Connection, place: Path
) -> None:
    config = Config(
        folders={"*": f"{place}/{{space}}"},
        permissions=("allow read_file(**)", "allow write_file(**)", "allow list_files(**)"),
    )
    tenant = connection.with_space("acme")
    tenant.folder = space_folder(config, "acme", own=False)
    acme = place / "acme"
    (acme / "up").symlink_to(place)
    (acme / "passwd").symlink_to("/etc/passwd")
    workspace = Workspace(str(acme))
    inside = await use_tool(tenant, config, workspace, "read_file", path="notes.txt")
    assert "notes of acme" in inside.content
    for path in ("/etc/passwd", "up/secret.txt", "passwd", "../secret.txt", f"{place}/secret.txt"):
        done = await use_tool(tenant, config, workspace, "read_file", path=path)
        assert done.error, (path, done.content)
    for path in ("/", "up", "..", "~", "up/bolt"):
        for tool in ("list_files", "search_files"):
            done = await use_tool(tenant, config, workspace, tool, path=path, pattern="heron|notes")
            assert done.error, (tool, path, done.content)
    found = await use_tool(tenant, config, workspace, "search_files", pattern="heron|notes|root:")
    assert "notes of acme" in found.content
    assert "heron" not in found.content
    assert "root:" not in found.content


@needs_bubblewrap
async def test_a_command_of_a_tenant_sees_the_system_and_its_folder(
    connection: Connection, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "sesame-of-the-database")
    config = Config(folders={"*": f"{place}/{{space}}"}, permissions=("allow shell",))
    tenant = connection.with_space("acme")
    tenant.folder = space_folder(config, "acme", own=False)
    (place / "acme/up").symlink_to(place)
    command = (
        f"cat notes.txt; cat {place}/bolt/notes.txt {place}/secret.txt up/secret.txt /etc/shadow; "
        f"env; ls {place}; ls /home /root /var /srv; cat /proc/1/environ; echo hi > /usr/x; "
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 1))'; echo fin > out"
    )
    done = await use_tool(tenant, config, Workspace(str(place / "acme")), "shell", command=command)
    assert "notes of acme" in done.content
    for hidden in ("heron", "notes of bolt", "sesame", "bolt\n", "home\n"):
        assert hidden not in done.content, done.content
    assert (place / "acme/out").read_text() == "fin\n"


async def test_a_command_of_a_tenant_does_not_run_without_a_sandbox(
    connection: Connection, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sapwood.workspace import workspace_toolbox

    monkeypatch.setattr(workspace_toolbox, "sandbox_problem", lambda: "bubblewrap is missing")
    for sandbox in ("off", "auto", "on"):
        config = Config(folders={"acme": str(place / "acme")}, permissions=("allow shell",))
        config = structs.replace(config, sandbox=sandbox)
        tenant = connection.with_space("acme")
        tenant.folder = space_folder(config, "acme", own=False)
        done = await use_tool(tenant, config, Workspace(str(place / "acme")), "shell", command="id")
        assert done.error
        assert "bubblewrap is missing" in done.content


async def test_an_agent_program_is_no_model_of_a_hosted_space(
    connection: Connection, place: Path
) -> None:
    served = hosted(connection, {"acme": str(place / "acme")})
    async with served.client(space="acme") as client:
        started = await client.post("/v1/agents", json={"has_prompt": False})
        agent = started.json()["agent"]
        command = await client.post(
            f"/v1/agents/{agent}/commands/model", json={"args": "claude-code"}
        )
        asked = await client.post(f"/v1/agents/{agent}/turns", json={"text": "Hello."})
    assert "Agent programs run only for the person at this machine" in command.text + asked.text
    assert not asked.is_success


async def test_pins_and_instructions_of_a_hosted_space_read_only_its_folder(
    connection: Connection, place: Path
) -> None:
    (place / "AGENTS.md").write_text("the heron is blue")
    tenant = connection.with_space("acme")
    for name, folder in (("old", place), ("new", place / "acme")):
        command = core.StartAgent(AgentId(name), workspace=Workspace(str(folder)))
        assert isinstance(await tenant.dispatcher.dispatch(command, command_meta()), Done)
    (place / "acme/link.txt").symlink_to(place / "secret.txt")
    served = hosted(connection, {"acme": str(place / "acme")})
    async with served.client(space="acme") as client:
        for agent, path in (
            *(("old", "secret.txt"), ("old", "AGENTS.md"), ("new", "link.txt")),
            *(("new", "/etc/passwd"), ("new", "../secret.txt"), ("new", f"{place}/secret.txt")),
        ):
            pinned = await client.post(
                f"/v1/agents/{agent}/commands/pin", json={"args": f"p @{path}"}
            )
            assert pinned.json()["refusal"] == "PinnedFileUnreadable", pinned.text
        fit = await client.post("/v1/agents/new/commands/pin", json={"args": "p @notes.txt"})
        assert fit.is_success
        worktree = await client.post("/v1/agents/new/commands/fork", json={"args": "--worktree b"})
        assert worktree.json()["refusal"] == "FolderNotAllowed"
    service = served.spaces.get("acme").agents.service
    state = (await served.spaces.get("acme").connection.dispatcher.open(AgentId("old"))).state
    read = service.services.instructions
    assert read is not None
    assert "heron" not in repr(read(service.services.workspace_of(state)))


async def test_sessions_of_the_machine_are_not_for_the_admin_of_a_tenant(
    connection: Connection, place: Path
) -> None:
    served = hosted(connection, {"acme": str(place / "acme")})
    async with served.client(space="acme") as admin:
        assert (await admin.get("/v1/sessions")).status_code == 403
        imported = await admin.post("/v1/sessions/import", json={"session": "x"})
    assert imported.status_code == 403


async def test_a_path_in_the_own_space_outside_the_current_folder_is_for_its_admin(
    connection: Connection, place: Path
) -> None:
    served = hosted(connection, own=True)
    commands = [
        core.StartAgent(AgentId("a"), workspace=Workspace(str(place), "/")),
        core.StartAgent(AgentId("b"), workspace=Workspace("", "/etc")),
        core.StartAgent(AgentId("c"), workspace=Workspace("..")),
        core.StartAgent(AgentId("c2"), workspace=Workspace("etc")),
        core.StartAgent(AgentId("c3"), workspace=Workspace("~")),
        core.StartAgent(AgentId("d"), origin=Origin("codex", "s", str(place / "secret.txt"))),
        core.StartAgent(AgentId("e"), origin=Origin("codex", "s")),
    ]
    async with served.client("read", "write", "approve") as writer, served.client() as person:
        for command in commands:
            refused = await give(writer, command)
            assert refused.status_code == 403, (command, refused.text)
            assert refused.json()["scope"] == "admin"
        assert (await give(person, commands[0])).is_success


async def test_a_tenant_learns_no_branch_of_a_repository_elsewhere(
    connection: Connection, place: Path
) -> None:
    (place / "bolt/.git").mkdir()
    (place / "bolt/.git/HEAD").write_text("ref: refs/heads/secret-merger\n")
    (place / "acme/.git").write_text(f"gitdir: {place}/bolt/.git\n")
    served = hosted(connection, {"acme": str(place / "acme")})
    read = served.spaces.get("acme").agents.service.services.instructions
    assert read is not None
    shown = repr(read(Workspace(str(place / "acme"))))
    assert str(place / "acme") in shown
    assert "secret-merger" not in shown


async def test_mcp_servers_of_the_operator_are_for_tenants_only_if_they_are_meant_for_them(
    place: Path,
) -> None:
    started = place / "started"
    for spaces in (False, True):
        server = McpServer(command=("touch", str(started)), spaces=spaces)
        toolbox = toolbox_for(
            Config(servers={"own": server}), SpaceFolder(str(place / "acme")), space=Space("acme")
        )
        await toolbox.specs()
        await toolbox.close()
        assert started.exists() is spaces


def test_an_agent_program_is_not_started_for_a_turn_of_a_hosted_space(place: Path) -> None:
    programs = programs_for(Config(), available=False)
    for program in ("claude-code", "codex"):
        with pytest.raises(Failure, match="only for the person at this machine"):
            programs.provider(program)


def test_a_folder_that_becomes_a_link_while_a_file_is_opened_is_not_followed(place: Path) -> None:
    (place / "acme/sub").mkdir()
    (place / "acme/sub/notes.txt").write_text("mine")
    seen = locate(root_of(Workspace(str(place / "acme/sub"))), "notes.txt")
    (place / "acme/sub").rename(place / "acme/moved")
    (place / "acme/sub").symlink_to(place / "bolt")
    with pytest.raises(NotADirectoryError), open_file(seen):
        pass


@pytest.mark.parametrize("need", ["network", "protected", "outside"])
async def test_a_command_of_a_tenant_cannot_leave_its_sandbox_by_what_it_needs(
    connection: Connection, place: Path, need: str
) -> None:
    config = Config(folders={"acme": str(place / "acme")}, permissions=("allow shell",))
    toolbox = toolbox_for(config, space_folder(config, "acme", own=False), space=Space("acme"))
    arguments = json.encode({"command": "touch ran", "needs": [need]}).decode()
    workspace = Workspace(str(place / "acme"))
    use = ToolUse(AgentId("a"), workspace, ToolCall("c1", "shell", arguments), "all")
    done = await toolbox.run(use)
    assert done.error
    assert not (place / "acme/ran").exists()
