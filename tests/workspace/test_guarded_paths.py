"""Files that run programs or hold keys need a question that no wide rule answers."""

import asyncio
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sapwood.workspace.permissions import guarded_paths
from sapwood.workspace.permissions.guarded_paths import PathGuards
from sapwood.workspace.protected_files import find_protected
from sapwood.workspace.safe_paths import locate
from tests.workspace.tool_calls import ToolWorkspace

WIDE = ("allow *", "allow write_file(**)", "allow read_file")
WRITTEN = [
    ".git/config",
    "sub/.git/hooks/pre-commit",
    ".GIT/config",
    ".ssh/authorized_keys",
    ".bashrc",
    ".zshenv",
    ".profile",
    ".config/sapwood/config.toml",
    ".config/sapwood/permissions.toml",
    ".claude/settings.json",
    ".codex/config.toml",
    ".gitconfig",
    ".mcp.json",
    ".envrc",
    ".zed/tasks.json",
    ".windsurf/hooks.json",
    ".roo/mcp.json",
    ".kiro/settings/mcp.json",
    "opencode.json",
    ".devcontainer.json",
    ".cargo/config.toml",
    ".vimrc",
    ".tmux.conf",
    ".gdbinit",
    "mise.toml",
    "lefthook.yml",
    ".github/workflows/ci.yml",
    "AGENTS.md",
    "packages/web/CLAUDE.md",
    "claude.MD",
    ".pre-commit-config.yaml",
    "lib/sitecustomize.py",
    "lib/evil.pth",
    ".config/nvim/init.lua",
    "vendor/HEAD",
    "HEAD",
]
PRIVATE = [
    ".ssh/id_rsa",
    ".ssh/work",
    ".config/sapwood/keys.toml",
    ".netrc",
    "deploy/id_ed25519",
    ".gnupg/private-keys-v1.d/a.key",
    "server.p12",
    ".config/gcloud/access_tokens.db",
    ".azure/msal_token_cache.json",
    ".vault-token",
    ".cargo/credentials.toml",
    ".my.cnf",
    ".gemini/oauth_creds.json",
    ".aws/sso/cache/a.json",
    ".mozilla/firefox/a/logins.json",
    "server-tokens.json",
    "mcp-logins.json",
    ".env",
    "api/.env.production",
    ".npmrc",
    ".docker/config.json",
    ".Kube/Config",
    ".bash_history",
    "infra/terraform.tfstate",
]


@pytest.mark.parametrize("path", WRITTEN)
async def test_no_wide_rule_allows_writing_where_programs_are_named(
    tmp_path: Path, path: str
) -> None:
    workspace = ToolWorkspace(tmp_path, WIDE)
    told = await workspace.refused("write_file", path=path, content="x")
    assert "is protected" in told
    assert not (tmp_path / path).exists()
    exact = ToolWorkspace(tmp_path, [f"allow write_file({path})"])
    await exact.done("write_file", path=path, content="x")


@pytest.mark.parametrize("path", PRIVATE)
async def test_no_wide_rule_allows_reading_a_private_key(tmp_path: Path, path: str) -> None:
    workspace = ToolWorkspace(tmp_path, WIDE)
    workspace.put(path, "private\n")
    assert "is protected" in await workspace.refused("read_file", path=path)
    assert "is protected" in await workspace.refused("search_files", pattern="private", path=path)
    found = await workspace.done("search_files", pattern="private", ignored=True)
    assert path not in found
    exact = ToolWorkspace(tmp_path, [f"allow read_file({path})"])
    assert "private" in await exact.done("read_file", path=path)


async def test_a_pem_file_is_private_if_it_holds_a_private_key(workspace: ToolWorkspace) -> None:
    workspace.put("a.pem", "-----BEGIN RSA PRIVATE KEY-----\nabc\n")
    workspace.put("b.pem", "-----BEGIN CERTIFICATE-----\nabc\n")
    assert "is protected" in await workspace.refused("read_file", path="a.pem")
    await workspace.done("read_file", path="b.pem")


@pytest.mark.parametrize(
    "path",
    [
        *("src/hooks/use.ts", "docs/config", "objects/a", "a/refs/b", ".ssh/id.pub", "head.txt"),
        *(".env.example", "src/env.py", "docs/agents.md.txt", "package.json", "Makefile"),
        *("src/secrets.py", ".github/CODEOWNERS", "web/credentials.ts"),
    ],
)
async def test_ordinary_files_are_not_guarded(workspace: ToolWorkspace, path: str) -> None:
    if ".ssh" not in path:
        await workspace.done("write_file", path=path, content="x")
    workspace.put(path, "x")
    await workspace.done("read_file", path=path)


async def test_a_link_to_a_guarded_file_is_guarded(tmp_path: Path) -> None:
    workspace = ToolWorkspace(tmp_path, WIDE)
    workspace.put(".ssh/id_rsa", "private")
    (tmp_path / "notes").symlink_to(tmp_path / ".ssh")
    (tmp_path / "key.txt").symlink_to(tmp_path / ".ssh" / "id_rsa")
    assert "is protected" in await workspace.refused("read_file", path="key.txt")
    told = await workspace.refused("write_file", path="notes/authorized_keys", content="x")
    assert "is protected" in told


def test_a_second_name_of_a_private_file_is_private(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".config" / "gcloud").mkdir(parents=True)
    key = home / ".config" / "gcloud" / "credentials.db"
    key.write_text("private")
    root = tmp_path / "work"
    root.mkdir()
    os.link(key, root / "notes.txt")
    (root / "plain.txt").write_text("x")
    os.link(root / "plain.txt", root / "other.txt")
    guards = PathGuards(home=str(home))
    top = os.path.realpath(root)
    assert "another name" in guards.against_reading(locate(top, "notes.txt"))
    assert not guards.against_reading(locate(top, "plain.txt"))


async def test_a_command_does_not_read_a_private_file_through_a_link(tmp_path: Path) -> None:
    workspace = ToolWorkspace(tmp_path, ["allow shell(cat *) in **"])
    outside = tmp_path.with_name(f"{tmp_path.name}-outside")
    outside.mkdir()
    (outside / "notes").write_text("private-text")
    workspace.put("plain.txt", "plain-text")
    workspace.put("sub/plain.txt", "plain-text")
    (tmp_path / "link.txt").symlink_to(outside / "notes")
    (tmp_path / "sub" / "more.txt").symlink_to(outside / "notes")
    assert "plain-text" in await workspace.done("shell", command="cat plain.txt")
    for command in ("cat link.txt", "cat l*.txt", "cat < link.txt"):
        assert "needs approval" in await workspace.refused("shell", command=command)
    assert "needs approval" in await workspace.refused("shell", command="cat more.txt", cwd="sub")


def test_a_protected_name_is_guarded_wherever_it_leads(tmp_path: Path) -> None:
    root = os.path.realpath(tmp_path)
    (tmp_path / "env.sh").touch()
    (tmp_path / ".envrc").symlink_to("env.sh")
    guards = PathGuards((), home=str(tmp_path / "home"))
    assert guards.against_writing(locate(root, ".envrc"))
    assert guards.against_writing(locate(root, os.path.join(root, ".envrc")))
    assert not guards.against_writing(locate(root, "other.sh"))


@pytest.mark.parametrize(
    ("link", "target", "written"),
    [
        (".envrc", "scripts/env.sh", "scripts/env.sh"),
        (".envrc", "scripts/env.sh", "other"),
        ("sub/.envrc", "../scripts/env.sh", "scripts/env.sh"),
        (".claude", "scripts", "scripts/new.md"),
        (".git/hooks/pre-commit", "../../scripts/env.sh", "scripts/env.sh"),
    ],
)
def test_what_a_protected_link_leads_to_is_guarded_under_its_own_name(
    tmp_path: Path, link: str, target: str, written: str
) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "env.sh").touch()
    (tmp_path / "other").symlink_to(link)
    guards, root = PathGuards(home=str(tmp_path / "home")), str(tmp_path)
    assert guards.against_writing(locate(root, "scripts/env.sh")) == ""
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(target)
    guards = PathGuards(home=str(tmp_path / "home"))
    assert f"the protected {link} is a link to it" in guards.against_writing(locate(root, written))
    assert guards.against_writing(locate(root, "src/a.py")) == ""


def test_links_are_searched_once_for_a_command_line_however_long_that_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, searches = [0.0], [0]

    def slow(_: str) -> list[str]:
        searches[0] += 1
        seconds[0] += 60.0
        return []

    monkeypatch.setattr(guarded_paths, "_links_in", slow)
    monkeypatch.setattr(guarded_paths.time, "monotonic", lambda: seconds[0])
    PathGuards(home=str(tmp_path)).words_astray(locate(str(tmp_path), "."), "echo > a; echo > b")
    assert searches == [1]


def test_an_ordinary_link_guards_nothing(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "lib").symlink_to("src")
    (tmp_path / ".vscode").symlink_to(".")
    guards = PathGuards(home=str(tmp_path / "home"))
    assert guards.against_writing(locate(str(tmp_path), "src/a.py")) == ""


def test_a_hidden_file_of_the_home_folder_is_guarded_if_it_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "foorc").touch()
    (tmp_path / ".foorc").symlink_to("dotfiles/foorc")
    guards, home = PathGuards(home=str(tmp_path)), str(tmp_path)
    assert "hidden files in your home directory" in guards.against_writing(locate(home, ".foorc"))
    assert guards.against_writing(locate(home, "dotfiles/foorc"))
    assert guards.against_writing(locate(home, "dotfiles/other")) == ""
    assert ".foorc" in find_protected(home, guards)


def test_every_hidden_file_of_the_home_folder_is_guarded_against_writing(tmp_path: Path) -> None:
    home = os.path.realpath(tmp_path)
    guards = PathGuards(home=home)
    assert guards.against_writing(locate(home, ".some-program/settings"))
    assert not guards.against_writing(locate(home, "work/.some-program/settings"))
    in_hidden = tmp_path / ".worktrees" / "a"
    in_hidden.mkdir(parents=True)
    assert not guards.against_writing(locate(os.path.realpath(in_hidden), "src/main.py"))


def test_own_folders_are_guarded_wherever_they_are(tmp_path: Path) -> None:
    root = os.path.realpath(tmp_path)
    guards = PathGuards([f"{root}/data", f"{root}/my.toml"], f"{root}/data/keys.toml")
    assert guards.against_writing(locate(root, "data/sapwood.db"))
    assert guards.against_writing(locate(root, "my.toml"))
    assert not guards.against_writing(locate(root, "database"))
    assert guards.against_reading(locate(root, "data/keys.toml"))
    assert guards.against_reading(locate(root, "data/server-tokens.json"))
    assert not guards.against_reading(locate(root, "data/worktrees/notes"))


async def test_files_of_a_folder_that_git_takes_for_a_repository_are_guarded(
    workspace: ToolWorkspace,
) -> None:
    workspace.put("vendor/HEAD", "ref: refs/heads/main\n")
    for path in ("vendor/config", "vendor/objects/x", "vendor/refs/x", "vendor/hooks/post-merge"):
        assert "is protected" in await workspace.refused("write_file", path=path, content="x")
    await workspace.done("write_file", path="vendor/readme.md", content="x")


async def test_the_folder_that_git_runs_hooks_from_is_guarded(workspace: ToolWorkspace) -> None:
    workspace.put(".git/config", "[core]\n\thooksPath = tools/hooks\n")
    told = await workspace.refused("write_file", path="tools/hooks/pre-commit", content="x")
    assert "hooks" in told
    await workspace.done("write_file", path="tools/other", content="x")


async def test_writing_files_and_running_git_is_not_running_anything(tmp_path: Path) -> None:
    """The attack: a folder that looks like a repository names a program, and git runs it."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    rules = ["allow write_file", "allow shell(git status)", "allow shell(git status) in **"]
    workspace = ToolWorkspace(tmp_path, rules)
    files = {
        "vendor/config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
        f"\tworktree = {tmp_path}/vendor\n"
        f'\tfsmonitor = "touch {tmp_path}/owned; false"\n',
        "vendor/objects/x": "",
        "vendor/refs/x": "",
        "vendor/HEAD": "ref: refs/heads/main\n",
    }
    for path, content in files.items():
        await workspace.call("write_file", path=path, content=content)
        workspace.put(path, content)  # as if another program had written it
    await workspace.call("shell", command="git status", cwd="vendor")
    assert not (tmp_path / "owned").exists()
    # The same files do run the program where these settings of git are missing.
    await asyncio.to_thread(
        subprocess.run, ["git", "status"], cwd=tmp_path / "vendor", capture_output=True
    )
    assert (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    ("line", "astray"),
    [
        ("ls > build/a.txt", False),
        ("ls > linked/a.txt", True),
        ("ls > build/link.txt", True),
        ("git ls-files | while read f; do cat $f; done", False),
        ("find build -exec cat {} +", True),
    ],
)
def test_files_that_a_line_writes_or_lists_are_looked_up(
    tmp_path: Path, line: str, astray: bool
) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    (root / "build").mkdir(parents=True)
    elsewhere.mkdir()
    (root / "src").mkdir()
    if astray:
        (root / "linked").symlink_to(elsewhere)
        (root / "build" / "link.txt").symlink_to(elsewhere / "a.txt")
    found = PathGuards(home=str(tmp_path)).words_astray(locate(str(root), "."), line)
    assert bool(found) is astray


@pytest.mark.parametrize("name", [".env", "-rf", "x /etc", "notes .env"])
def test_a_listed_name_that_is_more_than_a_name_is_found(tmp_path: Path, name: str) -> None:
    line = "for f in $(git ls-files); do cat $f; done"
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch() if "/" not in name else (tmp_path / name).mkdir()
    assert PathGuards(home=str(tmp_path)).words_astray(locate(str(tmp_path), "."), line)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("git checkout src", ("src",)),
        ("git checkout notes", ("notes",)),
        ("timeout 9 git checkout src", ("src",)),
        ("cd src && git checkout app", ("app",)),
        ("git checkout main", ()),
        ("git checkout app", ()),
        ("git checkout -b src", ()),
        ("ls src", ()),
    ],
)
def test_what_a_checkout_takes_for_a_file_is_found(
    tmp_path: Path, line: str, found: tuple[str, ...]
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app").touch()
    (tmp_path / "notes").touch()
    assert PathGuards(home=str(tmp_path)).words_astray(locate(str(tmp_path), "."), line) == found
