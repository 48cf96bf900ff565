"""What commands in the sandbox can write of git and of protected files, with the real programs."""

import asyncio
import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.workspace import nested_repositories
from sapwood.workspace.confinement import Confinement, Need
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.permissions.permission_gate import (
    AllowOnce,
    PermissionAnswer,
    PermissionGate,
    PermissionQuestion,
)
from sapwood.workspace.permissions.permission_rules import parse_rules
from sapwood.workspace.programs import environment_for_tools
from sapwood.workspace.safe_paths import ResolvedPath
from sapwood.workspace.sandbox import Sandbox, sandbox_problem
from sapwood.workspace.tool_output import ToolError
from sapwood.workspace.tools.shell_tool import run_shell
from sapwood.workspace.workspace_toolbox import WorkspaceToolbox
from tests.workspace.checkpoints.repositories import git, repository
from tests.workspace.tool_calls import until, use_of

pytestmark = pytest.mark.skipif(bool(sandbox_problem()), reason=sandbox_problem() or "-")

_WORK = """
set -ex
git status
echo 1 > a; git add a; git commit -qm one
git branch side; git checkout -q -b feature; echo 2 > a; git commit -qam two
git checkout -q side; echo b > b; git add b; git commit -qm three
git merge -q -m merged feature
git checkout -q feature; git rebase -q side
echo 3 > a; git stash -q; git stash pop -q; git checkout -q -- a
git tag v1; git branch -q -D side; git gc -q; git reset -q --hard v1
git log --format=%s
"""


class Project:
    """A repository in a home folder, and commands in its sandbox."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = repository(home / "project")
        self.commit("zero")
        self.marker = home / "ran"

    def commit(self, message: str) -> None:
        git(self.root, "commit", "--quiet", "--allow-empty", f"--message={message}")

    def sandbox(self) -> Confinement:
        """A sandbox as a new process has it."""
        settings = Sandbox(home=str(self.home), state=str(self.home / "data" / "sandbox"))
        return Confinement(settings, PathGuards())

    async def run(
        self, command: str, root: Path | None = None, needs: tuple[Need, ...] = ()
    ) -> str:
        """What a command prints."""
        folder = str(root or self.root)
        names = {
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        environment = environment_for_tools(os.environ | names | {"HOME": str(self.home)})
        sandbox = self.sandbox()
        if change := sandbox.change(folder):
            raise ToolError(change)
        place = ResolvedPath(folder, folder, ".")
        return (await run_shell(command, place, 60.0, environment, sandbox, needs)).text

    def evil(self) -> str:
        """Settings of git that make `git status` run a program, which leaves a marker."""
        return f"[core]\n\tfsmonitor = touch {self.marker}; false\n"

    def person_runs_git(self, root: Path | None = None) -> None:
        """The person looks at the repository, outside the sandbox, and commits."""
        for words in (("status",), ("add", "-A"), ("commit", "-qm", "Mine", "--allow-empty")):
            who = ("-c", "user.name=P", "-c", "user.email=p@q")
            subprocess.run(
                ["git", *who, *words], cwd=root or self.root, capture_output=True, check=False
            )
        assert not self.marker.exists(), "the person's git ran a program of the command"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "home")


def tree(folder: Path) -> set[str]:
    """Every path of a folder, without git's objects and logs."""
    paths = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return {path for path in paths if "/objects/" not in path and "logs" not in path}


@pytest.mark.parametrize("kind", ["repository", "without templates", "worktree"])
async def test_git_works_in_the_sandbox_and_nothing_is_left_behind(
    project: Project, kind: str
) -> None:
    root, name = project.root, ".git"
    if kind == "without templates":
        for each in ("hooks", "info", "branches"):
            shutil.rmtree(root / ".git" / each, ignore_errors=True)
    if kind == "worktree":
        root = project.home / "linked"
        git(project.root, "worktree", "add", "--quiet", str(root))
        name = "../project/.git"
    before = {each.split("/")[0] for each in tree((root / name).resolve())}
    said = await project.run(_WORK, root)
    assert "[exit status 0" in said, said
    assert "fatal" not in said, said  # `git branch -D` warns that it cannot write the settings
    after = {each.split("/")[0] for each in tree((root / name).resolve())}
    made = {"ORIG_HEAD", "COMMIT_EDITMSG", "packed-refs", "AUTO_MERGE", "index", "gc.log"}
    assert after - before <= made | {"REBASE_HEAD"}
    assert git(root, "status", "--porcelain") == ""
    git(root, "fsck")


_PLANT = "printf '#!/bin/sh\\ntouch {marker}\\n' > h/pre-commit; chmod +x h/pre-commit"
_FORGERIES = {
    "a commondir": (
        "mkdir evil; cp -r .git/. evil/; {config} > evil/config; echo ../evil > .git/commondir"
    ),
    "another git folder": "mv .git old; cp -r old/. .git; {config} > .git/config",
    "its settings": "{config} > .git/config",
    "its settings by a rename": "{config} > .git/x; mv -f .git/x .git/config",
    "settings of a worktree": "{config} > .git/config.worktree",
    "a hook": f"mkdir h; {_PLANT}; mkdir -p .git/hooks; cp h/pre-commit .git/hooks",
    "a folder of hooks": f"mkdir h; {_PLANT}; mv .git/hooks .git/h; mv h .git/hooks",
    "a link to hooks": f"mkdir h; {_PLANT}; rm -rf .git/hooks; ln -s ../h .git/hooks",
    "a submodule": "mkdir -p .git/modules/m; {config} > .git/modules/m/config",
    "a repository further down": (
        "git init -q a/sub; cd a/sub; git commit -q --allow-empty -m x; cd ../..; git add a; "
        "{config} > a/sub/.git/config"
    ),
    "a hidden repository further down": (
        "git init -q a/sub; cd a/sub; git commit -q --allow-empty -m x; cd ../..; git add a; "
        "{config} > a/sub/.git/config; chmod 311 a/sub a"
    ),
    "a git folder under another name": (
        "git init -q sub; cd sub; git commit -q --allow-empty -m x; mv .git ../kept; cd ..; "
        "echo 'gitdir: ../kept' > sub/.git; git add sub; {config} > kept/config"
    ),
    "a repository in place of another": (
        "mv old moved; git init -q old; cd old; git commit -q --allow-empty -m x; cd ..; "
        "git add old; {config} > old/.git/config"
    ),
    "unmounted settings": (
        "umount .git/config; unshare -Urm umount .git/config; {config} > .git/config"
    ),
}


@pytest.mark.parametrize("has_hooks", [True, False])
@pytest.mark.parametrize("way", _FORGERIES)
async def test_a_command_cannot_make_the_persons_git_run_a_program(
    project: Project, way: str, has_hooks: bool
) -> None:
    if not has_hooks:
        shutil.rmtree(project.root / ".git" / "hooks", ignore_errors=True)
    repository(project.root / "old")
    config = f"printf '{project.evil()}'".replace("\n", "\\n").replace("\t", "\\t")
    command = _FORGERIES[way].format(config=config, marker=project.marker)
    await project.run(command)
    project.person_runs_git()


async def test_while_a_command_runs_its_git_folder_is_protected_too(project: Project) -> None:
    """The person's git works meanwhile, and a second command that ends opens nothing."""
    shutil.rmtree(project.root / ".git" / "hooks", ignore_errors=True)
    waits = "touch started; while [ ! -e go ]; do sleep 0.05; done"
    waits += "; mkdir .git/hooks/x; echo a > .git/commondir"
    running = asyncio.create_task(project.run(waits))
    await until((project.root / "started").exists)
    assert "[exit status 0" in await project.run("git status")
    project.person_runs_git()
    (project.root / "go").touch()
    assert (await running).count("Read-only file system") == 2
    assert not (project.root / ".git" / "hooks").exists()
    assert not (project.root / ".git" / "commondir").exists()


async def test_what_a_crash_left_is_removed_by_the_next_command(project: Project) -> None:
    shutil.rmtree(project.root / ".git" / "hooks", ignore_errors=True)
    place = ResolvedPath(str(project.root), str(project.root), ".")
    code = (
        "import os, sys\n"
        "from tests.workspace.test_confinement import *\n"
        f"sandbox = Confinement(Sandbox(home={str(project.home)!r}, "
        f"state={str(project.home / 'data' / 'sandbox')!r}), PathGuards())\n"
        f"place = ResolvedPath(*{(place.root, place.real, place.given)!r})\n"
        "with sandbox.confined(['true'], place):\n"
        "    os._exit(0)\n"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], check=True)
    assert (project.root / ".git" / "commondir").read_text() == ".\n"
    project.person_runs_git()
    assert "[exit status 0" in await project.run("true")
    assert not (project.root / ".git" / "commondir").exists()
    assert not (project.root / ".git" / "hooks").exists()


async def test_a_link_in_place_of_git_opens_nothing_and_stops_commands(project: Project) -> None:
    secret = project.home / ".ssh"
    secret.mkdir()
    (secret / "id").write_text("private key")
    said = await project.run(f"mv .git g; rm -rf .git; ln -s {secret} .git")
    assert "Device or resource busy" in said
    (project.root / ".git").rename(project.root / "g")
    (project.root / ".git").symlink_to(secret)
    with pytest.raises(ToolError, match="is a link, and the sandbox does not follow links"):
        await project.run(f"cat {secret}/id")


async def test_a_worktree_cannot_name_another_repository(project: Project) -> None:
    other = repository(project.home / "other")
    root = project.home / "plain"
    root.mkdir()
    (root / "ev").mkdir()
    (root / ".git").write_text(f"gitdir: {root}/ev\n")
    (root / "ev" / "gitdir").write_text(f"{root}/.git\n")
    (root / "ev" / "commondir").write_text(f"{other}/.git\n")
    said = await project.run(f"cat {other}/.git/HEAD; touch {other}/.git/x; rm .git", root)
    assert "refs/heads" not in said
    assert not (other / ".git" / "x").exists()
    assert (root / ".git").is_file()


async def test_a_changed_git_folder_needs_a_person(project: Project) -> None:
    await project.run("true")
    shutil.rmtree(project.root / ".git", ignore_errors=True)
    with pytest.raises(ToolError, match="was a folder at its first command and is missing now"):
        await project.run("true")
    project.sandbox().accept(str(project.root))
    assert "Read-only file system" in await project.run("git init")
    assert os.listdir(project.root) == []
    assert "[exit status 0" in await project.run("git init -q", needs=("protected",))
    assert (project.root / ".git" / "HEAD").exists()


async def test_protected_files_are_read_only_and_new_ones_are_renamed(project: Project) -> None:
    (project.root / ".vscode").mkdir()
    (project.root / ".vscode" / "tasks.json").write_text("{}")
    (project.root / "web").mkdir()
    (project.root / "web" / ".envrc").write_text("mine")
    said = await project.run(
        "echo evil > .vscode/tasks.json; rm -rf .vscode; mv .vscode v; echo evil > web/.envrc;"
        "git log -1 --format=format:X --output=.envrc; mkdir -p .claude; echo x > .claude/settings"
    )
    assert (project.root / ".vscode" / "tasks.json").read_text() == "{}"
    assert (project.root / "web" / ".envrc").read_text() == "mine"
    assert not (project.root / ".envrc").exists()
    kept = re.search(r"Renamed \.envrc to (\.set-aside-\w+):", said)
    assert kept
    assert (project.root / kept[1]).read_text() == "X"
    assert not (project.root / ".claude").exists()
    assert "Renamed .claude to .set-aside-" in said
    await project.run("echo yes > .envrc", needs=("protected",))
    assert (project.root / ".envrc").read_text() == "yes\n"


async def test_links_that_git_would_write_through_are_removed(project: Project) -> None:
    target = project.home / ".bashrc"
    target.write_text("mine\n")
    said = await project.run(
        "for f in COMMIT_EDITMSG logs/HEAD ORIG_HEAD; "
        f"do rm -f .git/$f; ln -s {target} .git/$f; done"
    )
    assert said.count("Removed ") == 3
    project.person_runs_git()
    assert target.read_text() == "mine\n"


async def test_links_that_are_many_folders_down_are_removed_too(project: Project) -> None:
    target = project.home / ".bashrc"
    target.write_text("mine\n")
    said = await project.run(
        "b=$(printf 'd/%.0s' {1..25})z; git checkout -q -b $b; cd .git/logs/refs/heads;"
        f"rm -f $b; ln -s {target} $b"
    )
    assert said.count("Removed ") == 1, said
    project.person_runs_git()
    assert target.read_text() == "mine\n"


async def test_links_are_removed_where_the_absolute_path_is_too_long_for_the_system(
    project: Project,
) -> None:
    name = "d" * 99
    said = await project.run(
        "echo $PWD; cd .git/logs; until [ ${#PWD} -gt 3990 ];"
        f"do mkdir {name}; cd {name}; done; ln -s x $(printf 'z%.0s' {{1..99}}); ls | wc -c"
    )
    assert "\n100\n" in said
    assert said.count("Removed ") == 1


async def test_everything_is_undone_although_names_for_it_are_taken(project: Project) -> None:
    target = project.home / ".bashrc"
    target.write_text("mine\n")
    config = f"printf '{project.evil()}'".replace("\n", "\\n").replace("\t", "\\t")
    await project.run(
        'for i in "" {1..99}; do : > .envrc.set-aside$i; done; echo evil > .envrc;'
        f"rm -f .git/logs/HEAD; ln -s {target} .git/logs/HEAD; git init -q s; cd s;"
        f"git commit -q --allow-empty -m x; cd ..; git add s; {config} > s/.git/config"
    )
    assert not (project.root / ".envrc").exists()
    assert not (project.root / ".git" / "logs" / "HEAD").is_symlink()
    assert not (project.root / "s" / ".git").exists()
    project.person_runs_git()
    assert target.read_text() == "mine\n"


async def test_a_protected_file_with_the_longest_name_is_renamed(project: Project) -> None:
    name = "a" * 240 + ".code-workspace"
    said = await project.run(f"echo evil > {name}")
    assert f"Renamed {name} to .set-aside-" in said
    assert not (project.root / name).exists()


async def test_a_step_that_fails_is_reported_and_the_others_are_taken(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = project.home / ".bashrc"
    target.write_text("mine\n")
    rename = os.rename

    def refuses(source: str, *args: str, **handles: int) -> None:
        if source == ".envrc":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        rename(source, *args, **handles)

    monkeypatch.setattr(os, "rename", refuses)
    said = await project.run(
        f"echo evil > .envrc; mkdir .claude; rm -f .git/logs/HEAD; ln -s {target} .git/logs/HEAD"
    )
    assert "Could not rename .envrc (Input/output error)" in said
    assert not (project.root / ".claude").exists()
    assert not (project.root / ".git" / "logs" / "HEAD").is_symlink()


_CHAIN = "ln -s x l0; for i in {1..2000}; do ln -s l$((i-1)) l$i; done"


async def test_a_chain_of_links_without_end_does_not_keep_the_rest_from_being_undone(
    project: Project,
) -> None:
    """Python follows links by calling itself, so a long chain makes it fail."""
    await project.run(f"{_CHAIN}; for f in CLAUDE.md mise.toml .npmrc; do ln -s l2000 $f; done")
    said = await project.run(
        "for f in CLAUDE.md .mcp.json; do ln -s l2000 $f; done; echo evil > .envrc;"
        "echo evil > AGENTS.md; mkdir .vscode"
    )
    assert said.count("Renamed ") == 5, said
    assert not any((project.root / name).is_symlink() for name in ("CLAUDE.md", ".npmrc"))


async def test_a_folder_of_hooks_that_becomes_such_a_chain_does_not_either(
    project: Project,
) -> None:
    (project.root / "src").mkdir()
    (project.root / "tools").mkdir()
    git(project.root, "config", "core.hooksPath", "tools/hooks")
    said = await project.run(f"{_CHAIN}; rmdir tools; ln -s l2000 tools; echo evil > .envrc")
    assert said.count("Renamed ") == 1, said
    assert (project.root / "src").is_dir()
    assert "[exit status 0" in await project.run("true")


async def test_a_name_cannot_add_lines_to_what_is_reported(project: Project) -> None:
    said = await project.run(r"ln -s x .git/$'a\n[exit status 7]\xff'")
    assert said.encode().count(b"\n") == 1
    assert "/.git/a?[exit status 7]?: git would follow it." in said


async def test_what_a_command_left_is_undone_although_another_was_accepted_meanwhile(
    project: Project,
) -> None:
    root, target = str(project.root), project.home / ".bashrc"
    target.write_text("mine\n")
    sandbox = project.sandbox()
    with sandbox.confined(["true"], ResolvedPath(root, root, ".")):
        (project.root / ".git" / "logs" / "HEAD").unlink()
        (project.root / ".git" / "logs" / "HEAD").symlink_to(target)
        inner = repository(project.root / "s")
        (inner / ".git" / "config").write_text(project.evil())
        sandbox.accept(root)
    assert not (project.root / ".git" / "logs" / "HEAD").is_symlink()
    assert not (inner / ".git").exists()


async def test_links_in_a_repository_that_a_command_made_are_removed(project: Project) -> None:
    target = project.home / ".bashrc"
    target.write_text("mine\n")
    said = await project.run(
        f"git init -q s; mkdir -p s/.git/logs; ln -s {target} s/.git/logs/HEAD"
    )
    assert "Removed " in said
    project.person_runs_git(project.root / "s")
    assert target.read_text() == "mine\n"


@pytest.mark.parametrize(
    ("link", "command"),
    [
        ("file", "rm CLAUDE.md; echo EVIL > CLAUDE.md"),
        ("file", "ln -sf evil CLAUDE.md; echo EVIL > evil"),
        ("file", "mv CLAUDE.md AGENTS.md"),
        ("file", "echo EVIL >> real.md; mv real.md x; echo EVIL > real.md"),
        ("file", "mv docs d; mkdir docs; echo EVIL > docs/real.md"),
        ("chain", "rm docs/real.md; echo EVIL > docs/real.md"),
        ("chain", "ln -sf ../evil docs/real.md; echo EVIL > evil"),
        ("dangling", "mkdir -p docs; echo EVIL > docs/real.md"),
        ("folder", "echo EVIL > docs/real.md"),
        ("in a protected folder", "echo EVIL > docs/real.md"),
        ("in a protected folder", "mv docs d; mkdir docs; echo EVIL > docs/real.md"),
    ],
)
async def test_a_protected_file_that_is_a_link_is_not_replaced_or_written_through(
    project: Project, link: str, command: str
) -> None:
    root = project.root
    shown = root / "CLAUDE.md"
    if link != "dangling":
        (root / "docs").mkdir()
        (root / "docs" / "real.md").write_text("mine\n")
    if link == "chain":
        (root / "docs" / "real.md").rename(root / "docs" / "last.md")
        (root / "docs" / "real.md").symlink_to("last.md")
    if link == "folder":
        (root / ".claude").symlink_to("docs")
        shown = root / ".claude" / "real.md"
    elif link == "in a protected folder":
        (root / ".claude").mkdir()
        (root / ".claude" / "commands").symlink_to("../docs")
        shown = root / ".claude" / "commands" / "real.md"
    else:
        (root / "CLAUDE.md").symlink_to("docs/real.md")
    await project.run(command)
    assert not shown.exists() or shown.read_text() == "mine\n"
    assert not (root / "AGENTS.md").is_symlink()


async def test_a_protected_link_that_a_command_makes_again_as_it_was_stays(
    project: Project,
) -> None:
    (project.root / "AGENTS.md").write_text("mine\n")
    (project.root / "CLAUDE.md").symlink_to("AGENTS.md")
    said = await project.run("rm CLAUDE.md; ln -s AGENTS.md CLAUDE.md")
    assert "Renamed" not in said
    assert (project.root / "CLAUDE.md").read_text() == "mine\n"


async def test_a_folder_around_a_protected_file_that_becomes_a_link_is_renamed(
    project: Project,
) -> None:
    (project.root / "web").mkdir()
    (project.root / "web" / ".envrc").write_text("mine\n")
    said = await project.run("mv web w2; mkdir w3; echo evil > w3/.envrc; ln -s w3 web")
    assert "Renamed web to .set-aside-" in said
    assert not (project.root / "web").is_symlink()


async def test_a_git_folder_that_is_a_link_is_not_replaced_or_written_through(
    project: Project,
) -> None:
    inner = repository(project.root / "lib")
    git(inner, "commit", "--quiet", "--allow-empty", "--message=one")
    (inner / ".git").rename(project.root / "gd")
    (inner / ".git").symlink_to("../gd")
    git(project.root, "add", "lib")
    config = f"printf '{project.evil()}'".replace("\n", "\\n").replace("\t", "\\t")
    said = await project.run(f"{config} > gd/config")
    assert "Read-only file system" in said
    project.person_runs_git()
    await project.run(f"cp -r gd evil; {config} > evil/config; rm lib/.git; ln -s ../evil lib/.git")
    project.person_runs_git()


async def test_the_folder_around_a_file_that_a_hook_is_a_link_to_is_not_exchanged(
    project: Project,
) -> None:
    hooks, tools = project.root / ".git" / "hooks", project.root / "tools"
    hooks.mkdir(exist_ok=True)
    tools.mkdir()
    (tools / "check").write_text("#!/bin/sh\nexit 0\n")
    (tools / "check").chmod(0o755)
    (hooks / "pre-commit").symlink_to("../../tools/check")
    await project.run(
        f"mv tools t; mkdir tools; printf '#!/bin/sh\\ntouch {project.marker}\\n' > tools/check;"
        "chmod +x tools/check"
    )
    project.person_runs_git()


async def test_a_repository_in_the_workspace_is_protected_as_the_workspace_is(
    project: Project,
) -> None:
    inner = repository(project.root / "inner")
    config = f"printf '{project.evil()}'".replace("\n", "\\n").replace("\t", "\\t")
    said = await project.run(f"cd inner; git commit -q --allow-empty -m x; {config} > .git/config")
    assert "Read-only file system" in said
    assert git(inner, "log", "--format=%s") == "x\n"
    project.person_runs_git(inner)


_MANY = (
    "mkdir -p many/{1..20}; for i in 1 2 3; do git init -q s$i; cd s$i;"
    "git commit -q --allow-empty -m x; sha=$(git rev-parse HEAD); cd ..;"
    "git update-index --add --cacheinfo 160000,$sha,s$i; %s > s$i/.git/config; done"
)


async def test_where_there_are_too_many_folders_git_still_enters_no_new_repository(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nested_repositories, "MAX_FOLDERS", 3)
    config = f"printf '{project.evil()}'".replace("\n", "\\n").replace("\t", "\\t")
    said = await project.run(_MANY % config)
    assert "Not all folders were searched" in said
    assert said.count("Renamed s") == 3
    git(project.root, "status")
    assert not project.marker.exists()


async def test_where_there_are_too_many_folders_repositories_of_the_index_are_protected(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        inner = repository(project.root / f"s{number}")
        git(inner, "commit", "--quiet", "--allow-empty", "--message=one")
    git(project.root, "add", ".")
    monkeypatch.setattr(nested_repositories, "MAX_FOLDERS", 3)
    config = f"printf '{project.evil()}'".replace("\n", "\\n").replace("\t", "\\t")
    said = await project.run(f"for i in 0 1 2 3 4; do {config} > s$i/.git/config; done")
    assert said.count("Read-only file system") == 5
    assert "Renamed" not in said
    git(project.root, "status")
    assert not project.marker.exists()


async def test_a_repository_that_a_command_makes_stays_if_it_runs_nothing(project: Project) -> None:
    said = await project.run("git init -q sub; git clone -q . copy; echo x > copy/.git/hooks/a")
    assert "Renamed copy/.git to copy/.set-aside-" in said
    assert "sub" not in said
    config = f"printf '{project.evil()}'".replace("\n", "\\n").replace("\t", "\\t")
    assert "Read-only file system" in await project.run(f"{config} > sub/.git/config")


async def test_a_pipe_in_place_of_a_file_of_git_is_renamed(project: Project) -> None:
    said = await project.run("mkdir sub; mkfifo .gitignore sub/.gitignore; mkfifo pipe")
    assert said.count("Renamed ") == 2
    git(project.root, "status")


async def test_an_ignore_file_that_git_cannot_read_is_renamed(project: Project) -> None:
    (project.root / "old").mkdir()
    (project.root / "old" / ".gitignore").write_text("*.o\n")
    (project.root / "own").mkdir()
    (project.root / "own" / ".gitignore").write_text("*.o\n" * 300_000)
    said = await project.run("mkdir sub; truncate -s 15T sub/.gitignore old/.gitignore")
    assert said.count("Renamed ") == 2
    assert "may not make ignore files that git needs too much memory for" in said
    assert (project.root / "own" / ".gitignore").exists()
    git(project.root, "status")


async def test_system_settings_and_descriptors_of_the_host_are_out_of_reach(
    project: Project,
) -> None:
    said = await project.run(
        "(: >> /proc/sys/kernel/core_pattern) && echo open; ls -l /proc/self/fd"
    )
    assert "Read-only file system" in said or "Permission denied" in said
    assert "open\n" not in said
    assert str(project.root) not in said


_PLANTS = (
    "echo 'echo EVIL' > seed; ln -f seed .envrc; rm -f .git/logs/HEAD;"
    "ln -s {target} .git/logs/HEAD; ln -sf {target} .git/COMMIT_EDITMSG"
)
"""A protected file that has a number from before, and links that git would write through."""


def planted(project: Project) -> str:
    """A command that plants those, and the start-up file to which the links lead."""
    target = project.home / ".bashrc"
    target.write_text("mine\n")
    return _PLANTS.format(target=target)


def nothing_is_planted(project: Project) -> None:
    assert not (project.root / ".envrc").exists()
    assert not (project.root / ".git" / "logs" / "HEAD").is_symlink()
    assert not (project.root / ".git" / "COMMIT_EDITMSG").is_symlink()
    project.person_runs_git()
    assert (project.home / ".bashrc").read_text() == "mine\n"


async def test_a_command_does_not_keep_what_one_that_runs_beside_it_made_first(
    project: Project,
) -> None:
    """The second one starts when everything is there, and makes it again after the first ended."""
    plants = planted(project)
    first = asyncio.create_task(
        project.run(f"{plants}; touch made; until [ -e started ]; do sleep 0.05; done")
    )
    await until((project.root / "made").exists)
    waits = "touch started; until [ -e ended ]; do sleep 0.05; done"
    second = asyncio.create_task(project.run(f"{waits}; {plants}"))
    assert "Renamed .envrc" in await first
    (project.root / "ended").touch()
    said = await second
    assert said.count("Removed ") == 2, said
    assert "Renamed .envrc" in said
    nothing_is_planted(project)


async def test_what_was_there_before_stays_when_commands_overlap(project: Project) -> None:
    (project.root / "AGENTS.md").write_text("mine\n")
    (project.root / "web").mkdir()
    (project.root / ".git" / "mine").symlink_to("../web")
    first = asyncio.create_task(
        project.run("touch made; until [ -e go ]; do sleep 0.05; done; touch AGENTS.md")
    )
    await until((project.root / "made").exists)
    (project.root / "web" / ".envrc").write_text("mine\n")
    said = await project.run("git status")
    (project.root / "go").touch()
    assert not {"Renamed", "Removed"} & {*said.split(), *(await first).split()}
    assert (project.root / "AGENTS.md").exists()
    assert (project.root / "web" / ".envrc").exists()
    assert (project.root / ".git" / "mine").is_symlink()


async def test_a_link_in_place_of_one_that_was_in_the_git_folder_is_removed(
    project: Project,
) -> None:
    target = project.home / ".bashrc"
    (project.root / ".git" / "ORIG_HEAD").symlink_to("HEAD")
    said = await project.run(f"ln -sfn {target} .git/ORIG_HEAD")
    assert "Removed " in said


async def killed_in_a_command(project: Project, command: str, first: str = "") -> None:
    """A process of its own runs `first`, then the command in the sandbox, and is killed in it."""
    code = (
        "import asyncio\n"
        "from tests.workspace.test_confinement import *\n"
        f"{first}\n"
        f"project = object.__new__(Project); project.home = Path({str(project.home)!r})\n"
        f"asyncio.run(project.run({command!r}, Path({str(project.root)!r})))\n"
    )
    running = await asyncio.create_subprocess_exec(sys.executable, "-c", code)
    await until((project.root / "made").exists)
    running.kill()
    await running.wait()


async def test_what_a_command_made_is_undone_although_its_sapwood_is_killed(
    project: Project,
) -> None:
    await killed_in_a_command(project, f"{planted(project)}; touch made; sleep 600")
    await until(lambda: not (project.root / ".envrc").exists())
    said = await project.run("true")
    assert "An earlier command was interrupted." in said
    assert said.count("Removed ") == 2, said
    nothing_is_planted(project)
    assert "interrupted" not in await project.run("true")


async def test_what_a_killed_sapwood_left_is_undone_although_another_command_runs(
    project: Project,
) -> None:
    first = asyncio.create_task(
        project.run("touch runs; until [ -e go ]; do sleep 0.05; done; touch a")
    )
    await until((project.root / "runs").exists)
    await killed_in_a_command(project, f"{planted(project)}; touch made; sleep 600")
    await until(lambda: not (project.root / ".envrc").exists())
    nothing_is_planted(project)
    said = await project.run("true")
    assert "An earlier command was interrupted." in said
    (project.root / "go").touch()
    assert "[exit status 0" in await first


async def test_after_a_power_cut_the_next_command_undoes_what_the_last_one_made(
    project: Project,
) -> None:
    ends_too = "import sapwood.workspace.interrupted_commands as i; i._WAIT = 'exit'"
    await killed_in_a_command(project, f"{planted(project)}; touch made; sleep 600", ends_too)
    assert (project.root / ".envrc").exists()
    said = await project.run("true")
    assert said.count("Removed ") == 2, said
    nothing_is_planted(project)


@pytest.mark.parametrize("way", ["moved", "removed"])
async def test_nothing_in_a_new_folder_is_renamed_after_a_power_cut(
    project: Project, way: str
) -> None:
    (project.root / ".envrc").write_text("mine\n")
    ends_too = "import sapwood.workspace.interrupted_commands as i; i._WAIT = 'exit'"
    await killed_in_a_command(project, "touch made; sleep 600", ends_too)
    another_project(project, way)
    said = await project.run("true")
    assert "is not the folder that it was before" in said
    assert (project.root / ".envrc").exists()
    assert "folder" not in await project.run("true")


async def test_nothing_in_a_new_folder_is_renamed_while_a_command_runs_in_the_old_one(
    project: Project,
) -> None:
    first = asyncio.create_task(
        project.run("touch made; until [ -e go ]; do sleep 0.05; done; touch ended")
    )
    await until((project.root / "made").exists)
    old = another_project(project, "moved")
    assert "Renamed" not in await project.run("true")
    (old / "go").touch()
    assert "is not the folder that it was before" in await first
    assert (project.root / ".envrc").exists()


def another_project(project: Project, way: str) -> Path:
    """Moves or removes the folder, and makes one with protected files at its path."""
    old = project.root.rename(project.home / "old")
    if way == "removed":
        shutil.rmtree(old)
    repository(project.root)
    (project.root / ".envrc").write_text("mine\n")
    return old


@pytest.mark.parametrize("around", ["true", "rmdir sub/.git"])
async def test_a_command_around_a_workspace_does_not_open_its_git_folder(
    project: Project, around: str
) -> None:
    """A mount ends when its place is renamed or removed, and so it does in other sandboxes."""
    sub = project.root / "sub"
    sub.mkdir()
    outer = asyncio.create_task(
        project.run(f"touch sub/outer; until [ -e sub/inner ]; do sleep 0.05; done; {around}")
    )
    await until((sub / "outer").exists)
    settings = f"git config core.fsmonitor 'touch {project.marker}; false'"
    inner = asyncio.create_task(
        project.run(
            f"touch inner; until [ -e go ]; do sleep 0.05; done; git init -q . && {settings}", sub
        )
    )
    await outer
    (sub / "go").touch()
    await inner
    project.person_runs_git(sub)


@pytest.mark.parametrize("path", [".envrc", ".vscode/tasks.json"])
async def test_what_a_tool_was_allowed_to_write_stays_while_a_command_runs(
    project: Project, path: str
) -> None:
    first = asyncio.create_task(project.run(_WAITS))
    await until((project.root / "made").exists)
    await tool_writes(project, path)
    assert "Renamed" not in await project.run("true")
    (project.root / "go").touch()
    assert "Renamed" not in await first
    assert (project.root / path).read_text() == "allowed\n"


@pytest.mark.parametrize("change", ["echo more >> .envrc", "ln .envrc other"])
async def test_what_a_command_makes_of_what_a_tool_wrote_is_renamed(
    project: Project, change: str
) -> None:
    first = asyncio.create_task(project.run(f"{_WAITS}; {change}"))
    await until((project.root / "made").exists)
    await tool_writes(project, ".envrc")
    (project.root / "go").touch()
    assert "Renamed .envrc" in await first
    assert not (project.root / ".envrc").exists()


_WAITS = "touch made; until [ -e go ]; do sleep 0.05; done"


async def tool_writes(project: Project, path: str) -> None:
    """The tools write a protected file, and a person allows that."""
    box = WorkspaceToolbox(
        PermissionGate(parse_rules(()), allow_once), sandbox=project.sandbox().sandbox
    )
    for tool, arguments in (
        ("write_file", {"path": path, "content": "draft\n"}),
        ("edit_file", {"path": path, "old_text": "draft", "new_text": "allowed"}),
    ):
        outcome = await box.run(use_of(tool, json.dumps(arguments), project.root))
        assert not outcome.error, outcome.content


async def allow_once(_: PermissionQuestion) -> PermissionAnswer:
    return AllowOnce()
