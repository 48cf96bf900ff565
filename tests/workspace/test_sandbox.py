"""Commands in the sandbox, with the real program."""

import os
import socket
import sys
from pathlib import Path

import pytest

from sapwood.app.assembly import sandbox_of
from sapwood.config.config_file import Config
from sapwood.doctor.checks import check_sandbox
from sapwood.workspace import workspace_toolbox
from sapwood.workspace.confinement import Confinement, Need
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.permissions.permission_gate import PermissionGate
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.programs import environment_for_tools
from sapwood.workspace.safe_paths import ResolvedPath
from sapwood.workspace.sandbox import Sandbox, sandbox_problem
from sapwood.workspace.tools.shell_tool import run_shell
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.workspace.checkpoints.repositories import git, repository
from tests.workspace.tool_calls import ToolWorkspace

needs_bubblewrap = pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem() or "-")


class Home:
    """A home folder with a project, and Sapwood's own files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "src" / "project"
        self.project.mkdir(parents=True)
        (folder / ".ssh").mkdir()
        (folder / ".ssh" / "id").write_text("private key")
        self.data = folder / "data"
        self.data.mkdir()
        (self.data / "sapwood.db").write_text("the log")

    async def run(
        self,
        command: str,
        root: Path | None = None,
        *,
        network: bool = False,
        readable: tuple[str, ...] = (),
        needs: tuple[Need, ...] = (),
    ) -> str:
        """What a command prints in the sandbox."""
        root = root or self.project
        hidden = (str(self.data), str(root / "sapwood.db"))
        settings = Sandbox(network, readable, hidden, str(self.folder), str(self.data / "sandbox"))
        sandbox = Confinement(settings, PathGuards())
        environment = environment_for_tools(os.environ | {"HOME": str(self.folder)})
        place = ResolvedPath(str(root), str(root), ".")
        return (await run_shell(command, place, 60.0, environment, sandbox, needs)).text


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@needs_bubblewrap
async def test_the_workspace_can_be_written_and_nothing_else(home: Home) -> None:
    said = await home.run("echo mine > a.txt && cat a.txt; touch /etc/x /usr/x; touch ~/x && ls ~")
    assert "mine\n" in said
    assert said.count("Read-only file system") == 2
    assert (home.project / "a.txt").read_text() == "mine\n"
    assert not (home.folder / "x").exists()


@needs_bubblewrap
async def test_the_home_folder_and_sapwoods_files_are_invisible(home: Home) -> None:
    (home.project / "sapwood.db").write_text("the log")
    said = await home.run(f"cat ~/.ssh/id; ls -A {home.data}; cat sapwood.db; ls ~/src")
    assert "private key" not in said
    assert "the log" not in said
    assert "project" in said
    assert (home.project / "sapwood.db").read_text() == "the log"


@needs_bubblewrap
async def test_a_home_folder_that_is_the_workspace_hides_its_secrets(home: Home) -> None:
    said = await home.run(f"cat .ssh/id; cat {home.data}/sapwood.db; echo mine > a", home.folder)
    assert "private key" not in said
    assert "the log" not in said
    assert (home.folder / "a").read_text() == "mine\n"


@needs_bubblewrap
async def test_temporary_files_are_private(home: Home) -> None:
    assert await home.run("touch /tmp/of-a-command && ls /tmp/of-a-command") != ""
    assert "of-a-command" not in os.listdir("/tmp")
    assert "No such file" in await home.run("ls /tmp/of-a-command")


@needs_bubblewrap
async def test_programs_in_the_home_folder_can_be_allowed(home: Home) -> None:
    (home.folder / "tools").mkdir()
    (home.folder / "tools" / "hello").write_text("#!/bin/sh\necho hello\n")
    (home.folder / "tools" / "hello").chmod(0o755)
    assert "hello\n" not in await home.run("~/tools/hello")
    assert "hello\n" in await home.run("~/tools/hello; touch ~/tools/x", readable=("~/tools",))
    assert not (home.folder / "tools" / "x").exists()


@needs_bubblewrap
async def test_the_network_is_a_setting(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"(echo > /dev/tcp/127.0.0.1/{port}) 2>&1 && echo reached"
        assert "reached" in await home.run(command, network=True)
        assert "reached" in await home.run(command, needs=("network",))
        assert "reached" not in await home.run(command)


def marked(word: str) -> list[int]:
    """The processes with a word in their command line."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if name.isdigit() and word.encode() in words:
            found.append(int(name))
    return found


@needs_bubblewrap
async def test_every_process_ends_with_the_call(home: Home) -> None:
    seconds = "86" + str(os.getpid())
    said = await home.run(f"setsid env -i sleep {seconds} & sleep 0.2; echo done")
    assert "done\n" in said
    assert marked(seconds) == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has subreapers")
@pytest.mark.parametrize("way", ["ends", "times out"])
async def test_without_a_sandbox_too_every_process_ends_with_the_call(home: Home, way: str) -> None:
    seconds = f"87{way == 'ends':d}{os.getpid()}"
    place = ResolvedPath(str(home.project), str(home.project), ".")
    command = f"setsid env -i sleep {seconds} & echo started"
    if way == "times out":
        command = f"trap '' TERM; {command}; sleep 60"
    result = await run_shell(command, place, 1.0, dict(os.environ))
    assert "started\n" in result.text
    assert marked(seconds) == []


@needs_bubblewrap
async def test_git_works_and_its_programs_cannot_be_planted(home: Home) -> None:
    repository(home.project)
    (home.project / ".git" / "hooks").mkdir(exist_ok=True)
    (home.project / "a").write_text("1")
    said = await home.run(
        "git add a && git -c user.name=A -c user.email=a@b commit -qm One && git log --format=%s;"
        "echo evil > .git/hooks/pre-commit; git config core.fsmonitor evil"
    )
    assert "One\n" in said
    assert not (home.project / ".git" / "hooks" / "pre-commit").exists()
    assert "evil" not in (home.project / ".git" / "config").read_text()


@needs_bubblewrap
async def test_a_linked_worktree_can_commit_and_no_other_repository_can_be_named(
    home: Home,
) -> None:
    main, side = repository(home.folder / "src" / "main"), home.folder / "src" / "side"
    (main / "a").write_text("1")
    git(main, "add", ".")
    git(main, "commit", "--quiet", "--message=One")
    git(main, "worktree", "add", "--quiet", str(side))
    commit = (
        "git -c user.name=A -c user.email=a@b commit --allow-empty -qm Two; git log --format=%s"
    )
    assert "Two\nOne\n" in await home.run(commit, side)
    (home.project / ".git").write_text((side / ".git").read_text())
    assert "Two" not in await home.run("git log --format=%s")


@needs_bubblewrap
async def test_an_exit_status_and_a_timeout_are_those_of_the_command(home: Home) -> None:
    assert "[exit status 3, no output]" in await home.run("exit 3")
    place = ResolvedPath(str(home.project), str(home.project), ".")
    sandbox = Confinement(Sandbox(state=str(home.data / "sandbox")), PathGuards())
    result = await run_shell("sleep 60", place, 0.5, dict(os.environ), sandbox)
    assert "stopped after 0.5 seconds" in result.text


async def test_where_a_sandbox_is_required_and_missing_no_command_runs(
    workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_toolbox, "sandbox_problem", lambda: "bubblewrap is missing")
    rules = parse_rules(["allow shell"])
    workspace.box = WorkspaceToolbox(
        PermissionGate(rules), sandbox=Sandbox(), requires_sandbox=True
    )
    outcome = await workspace.call("shell", command="touch ran")
    assert outcome.error
    assert "there is none: bubblewrap is missing" in outcome.content
    assert "sapwood config set sandbox auto" in outcome.content
    workspace.box = WorkspaceToolbox(PermissionGate(rules), sandbox=Sandbox())
    assert not (await workspace.call("shell", command="touch ran")).error


def test_the_setting_decides_and_the_doctor_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sandbox_of(Config(sandbox="off")) is None
    found = sandbox_of(Config(sandbox_network=True, sandbox_readable=("~/x",)))
    assert found is not None
    assert (found.network, found.readable) == (True, ("~/x",))
    assert any(path.endswith("sapwood.db-wal") for path in found.hidden)
    assert check_sandbox(Config(sandbox="off")).state == "open"
    monkeypatch.setattr("sapwood.workspace.sandbox.sandbox_problem", lambda: "none here")
    assert check_sandbox(Config(sandbox="on")).state == "broken"
    assert check_sandbox(Config()).message == "none here: commands run with your permissions"
    monkeypatch.setattr("sapwood.workspace.sandbox.sandbox_problem", lambda: "")
    assert check_sandbox(Config()).message == "bubblewrap, without network"
