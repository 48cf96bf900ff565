"""Random edits of a workspace, as a person or an agent makes them."""

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from proofs.revert.snapshot import IGNORED_FOLDER, IGNORED_NAME, LARGE

_FOLDERS = ["", "", "src", "src/deep", "docs", "priv", IGNORED_FOLDER, "lib", "sp ace"]
_NAMES = ["a", "b.py", "c.md", "git~1", "-dash", "ü", "new\nline", "key", f"x{IGNORED_NAME}"]
_FILE_MODES = [0o644, 0o644, 0o600, 0o755, 0o640, 0o666, 0o700, 0o444, 0o664]
_FOLDER_MODES = [0o755, 0o755, 0o700, 0o750, 0o775]
_IDENTITY = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "gc.auto=0"]


def git(folder: Path, *arguments: str) -> None:
    """Runs git as the user would, and ignores whether it fails."""
    command = ["git", *_IDENTITY, *arguments]
    subprocess.run(command, cwd=folder, check=False, capture_output=True)


def lay_out(home: Path, random: Random) -> Path:
    """Makes a home folder with a workspace in it, in one of the forms that people have."""
    form = random.choice(["plain", "plain", "subfolder", "core.worktree", "dotfiles"])
    root = home / "work" / "project"
    root.mkdir(parents=True)
    for path in (home / ".profile", home / "work" / "neighbour", home / "work" / "notes"):
        path.write_text(f"outside {random.random()}")
    top = {"subfolder": home / "work", "dotfiles": home}.get(form, root)
    git(top, "init", "--quiet", "--initial-branch=main", "--template=")
    (top / ".git" / "info").mkdir(exist_ok=True)
    if form == "core.worktree":
        git(root, "config", "core.worktree", "../..")
    return root


def edit(root: Path, random: Random) -> str:
    """Changes something, and returns what was done."""
    name = random.choice(list(EDITS))
    with suppress(OSError):  # such as a folder where a file was wanted
        EDITS[name](root, random)
    return name


def _path(root: Path, random: Random) -> Path:
    return root / random.choice(_FOLDERS) / random.choice(_NAMES)


def _some(root: Path, random: Random) -> Path:
    """A file that exists, if there is one."""
    found = [path for path in sorted(root.rglob("*")) if ".git" not in path.parts]
    files = [path for path in found if path.is_symlink() or path.is_file()]
    return random.choice(files) if files else _path(root, random)


def _write(root: Path, random: Random) -> None:
    path = _path(root, random)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    path.write_bytes(random.randbytes(random.choice([0, 3, 40, 5_000])))
    path.chmod(random.choice(_FILE_MODES))


def _overwrite(root: Path, random: Random) -> None:
    path = _some(root, random)
    if path.is_symlink():
        path.unlink()
    mode = path.stat().st_mode if path.exists() else 0o644
    path.write_bytes(random.randbytes(30))
    path.chmod(mode & 0o7777)


def _rename(root: Path, random: Random) -> None:
    target = _path(root, random)
    target.parent.mkdir(parents=True, exist_ok=True)
    os.rename(_some(root, random), target)


def _mode(root: Path, random: Random) -> None:
    path = _some(root, random)
    if not path.is_symlink():
        path.chmod(random.choice(_FILE_MODES))


def _folder_mode(root: Path, random: Random) -> None:
    (root / random.choice(_FOLDERS[2:])).chmod(random.choice(_FOLDER_MODES))


def _link(root: Path, random: Random) -> None:
    path = _path(root, random)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(random.choice(["a", "../notes", "/etc/hostname", "nowhere", "src"]))


def _link_folder(root: Path, random: Random) -> None:
    """A folder becomes a link to the outside."""
    folder = root / "docs"
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
    folder.symlink_to("../..")


def _remove(root: Path, random: Random) -> None:
    _some(root, random).unlink()


def _remove_folder(root: Path, random: Random) -> None:
    folder = root / random.choice(_FOLDERS[2:])
    folder.unlink() if folder.is_symlink() else shutil.rmtree(folder)


def _swap(root: Path, random: Random) -> None:
    """A file becomes a folder."""
    path = _some(root, random)
    path.unlink()
    path.mkdir()
    (path / "inner").write_bytes(random.randbytes(5))


def _nest(root: Path, random: Random) -> None:
    """A folder becomes a separate repository."""
    folder = root / random.choice(["lib", "src/deep"])
    if not folder.is_symlink():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "theirs").write_bytes(random.randbytes(9))
        git(folder, "init", "--quiet", "--template=")


def _unnest(root: Path, random: Random) -> None:
    """A repository inside loses its `.git`."""
    for path in sorted(root.rglob(".git")):
        if path != root / ".git":
            shutil.rmtree(path, ignore_errors=True)


def _ignore(root: Path, random: Random) -> None:
    rules = random.choice([f"*{IGNORED_NAME}\n", f"/{IGNORED_FOLDER}/\n", ""])
    if random.random() < 0.5 and (root / ".git" / "info").is_dir():
        (root / ".git" / "info" / "exclude").write_text(rules)
    else:
        (root / ".gitignore").write_text(rules)
        (root / ".gitignore").chmod(0o644)


def _large(root: Path, random: Random) -> None:
    path = root / random.choice(["a", "src/data"])
    path.parent.mkdir(exist_ok=True)
    if path.is_symlink():
        path.unlink()
    with path.open("wb") as file:
        file.truncate(LARGE + 1)


def _close(root: Path, random: Random) -> None:
    """A file or a folder becomes unreadable for its owner."""
    if random.random() < 0.5:
        path = _some(root, random)
        if not path.is_symlink():  # it may point to a folder above the project
            path.chmod(0o200)
    else:
        (root / random.choice(["priv", "src/deep"])).chmod(random.choice([0, 0o300, 0o400]))


def _reopen(root: Path, random: Random) -> None:
    for path in (root / "priv", root / "src" / "deep"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def _commit(root: Path, random: Random) -> None:
    git(root, "add", "--all", ".")
    git(root, "commit", "--quiet", "--message=Mine")


def _switch(root: Path, random: Random) -> None:
    _commit(root, random)
    name = random.choice(["main", "feature", "other"])
    git(root, "switch", "--quiet", name)
    git(root, "switch", "--quiet", "--create", name)


EDITS: dict[str, Callable[[Path, Random], None]] = {
    "write": _write,
    "write more": _write,
    "overwrite": _overwrite,
    "rename": _rename,
    "mode": _mode,
    "folder mode": _folder_mode,
    "link": _link,
    "link folder": _link_folder,
    "remove": _remove,
    "remove folder": _remove_folder,
    "swap": _swap,
    "nest": _nest,
    "unnest": _unnest,
    "ignore": _ignore,
    "large": _large,
    "close": _close,
    "reopen": _reopen,
    "commit": _commit,
    "switch": _switch,
}
