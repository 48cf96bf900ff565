"""Files for which only a rule for exactly that path counts, and no permission mode.

Such a file makes a program run something (a hook of git, a start-up file of a shell, the settings
of an agent), holds the rules themselves, or is a private key. Whoever may write 'all files' is not
meant to write these.
"""

import os
import re
from collections.abc import Iterable

from sapwood.workspace.places import Place

__all__ = ["PathGuards"]

_FOLDERS = {
    ".git": "git runs programs that its files name",
    ".hg": "Mercurial runs programs that its files name",
    ".ssh": "it holds keys and decides who may log in",
    ".gnupg": "it holds private keys",
    ".claude": "it holds the permissions and hooks of Claude Code",
    ".codex": "it holds the permissions and hooks of Codex",
    ".gemini": "it holds the settings of Gemini CLI",
    ".cursor": "it holds the settings of Cursor",
    ".sapwood": "it is reserved for Sapwood",
    ".githooks": "git may run its files as hooks",
    ".husky": "git runs its files as hooks",
    ".vscode": "the editor runs tasks that its files name",
    ".idea": "the editor runs tasks that its files name",
    ".devcontainer": "the editor runs commands that its files name",
    ".aws": "it holds credentials",
    ".kube": "it holds credentials",
}
_ALWAYS = (".git", ".ssh", ".gnupg")
"""Folders that stay guarded when the workspace is in one of them."""
_FOLDER_PATHS = {
    ".config/sapwood": "it holds Sapwood's own settings, rules and keys",
    ".local/share/sapwood": "it holds Sapwood's own database",
    ".config/git": "git runs programs that its files name",
    ".config/fish": "the shell runs its files",
    ".config/autostart": "its files are run at login",
    ".config/systemd": "its files are run at login",
    ".config/environment.d": "its files are read at login",
    ".local/bin": "its files are run as commands",
    "Library/LaunchAgents": "its files are run at login",
}
_FILES = {
    **dict.fromkeys(
        ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv "
        ".zprofile .zlogin .zlogout .kshrc .cshrc .tcshrc .login .logout .xprofile .xinitrc "
        ".xsession .xsessionrc .inputrc .envrc".split(),
        "a shell or a login runs it",
    ),
    **dict.fromkeys(".gitconfig .gitmodules".split(), "git runs programs that it names"),
    ".mcp.json": "agents start the programs that it names",
    ".pam_environment": "it is read at login",
    **dict.fromkeys(
        ".netrc .pgpass .git-credentials .npmrc .pypirc".split(), "it holds credentials"
    ),
}
_PRIVATE_FOLDERS = (".ssh", ".gnupg")
_PRIVATE_PATHS = (
    ".config/sapwood/keys.toml",
    ".aws/credentials",
    ".kube/config",
    ".codex/auth.json",
    ".claude/.credentials.json",
    ".config/gh/hosts.yml",
    ".docker/config.json",
)
_PRIVATE_FILES = frozenset(
    ".netrc .pgpass .git-credentials id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk"
    "".split()
)
_PUBLIC_IN_SSH = frozenset(("config", "known_hosts", "authorized_keys"))
_KEY_SUFFIXES = (".ppk", ".p12", ".pfx", ".jks", ".keystore")
_PEM_SUFFIXES = (".pem", ".key")
_PRIVATE_KEY = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")
_IN_REPOSITORY = frozenset(
    "head config config.worktree commondir gitdir objects refs hooks info index packed-refs "
    "worktrees modules reftable".split()
)
"""The names that git reads in a folder that it takes for a repository."""
_HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*\"?(.+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


class PathGuards:
    """Says which files are guarded. `own` are Sapwood's own folders and files, as absolute paths.

    `keys` is the file of API keys, which is not read without a question either.
    """

    def __init__(self, own: Iterable[str] = (), keys: str = "") -> None:
        self._own = tuple(os.path.realpath(path) for path in own)
        self._keys = os.path.realpath(keys) if keys else ""

    def against_writing(self, place: Place) -> str:
        """Why writing here needs a rule for exactly this path; '' if it does not."""
        if any(_is_in(place.real, own) for own in self._own):
            return _sentence(place, "it belongs to Sapwood: its settings, rules, keys or database")
        return _by_name(place) or _by_repository(place) or _by_hooks_path(place)

    def against_reading(self, place: Place) -> str:
        """Why reading this file needs a rule for exactly this path; '' if it does not."""
        return self.against_reading_name(place.real, place.shown) or _by_content(place)

    def against_reading_name(self, path: str, shown: str) -> str:
        """The same by the absolute path alone, for a file that is one of many."""
        is_private = (self._keys and path == self._keys) or _is_private_name(path)
        return f"{shown} is protected: it holds private keys or passwords." if is_private else ""


def _by_name(place: Place) -> str:
    why = _why_by_name(place.shown)
    if not why and place.is_inside:
        # The workspace itself may be in such a folder: a worktree in .claude is an ordinary one.
        above = place.root.casefold().split("/")
        why = next((_FOLDERS[name] for name in _ALWAYS if name in above), "")
    return _sentence(place, why) if why else ""


def _why_by_name(path: str) -> str:
    names = [name.casefold() for name in path.split("/")]
    named = next((_FOLDERS[name] for name in names if name in _FOLDERS), "")
    around = f"/{path.casefold()}/"
    in_folder = (why for part, why in _FOLDER_PATHS.items() if f"/{part.casefold()}/" in around)
    return named or _FILES.get(names[-1], "") or next(in_folder, "")


def _is_private_name(path: str) -> bool:
    names = [name.casefold() for name in path.split("/")]
    name = names[-1]
    if name.endswith(".pub"):
        return False
    in_private = any(each in _PRIVATE_FOLDERS for each in names[:-1])
    if in_private and name not in _PUBLIC_IN_SSH:
        return True
    folded = path.casefold()
    return (
        name in _PRIVATE_FILES
        or name.endswith(_KEY_SUFFIXES)
        or any(folded.endswith(f"/{private}") for private in _PRIVATE_PATHS)
    )


def _by_content(place: Place) -> str:
    if not place.real.casefold().endswith(_PEM_SUFFIXES):
        return ""
    try:
        if not os.path.isfile(place.real):
            return ""
        with open(place.real, "rb") as file:
            head = file.read(4_096)
    except OSError:
        return ""
    return _sentence(place, "it holds a private key") if _PRIVATE_KEY.search(head) else ""


def _by_repository(place: Place) -> str:
    """Whether the file is, or would become, part of a folder that git takes for a repository."""
    steps = place.steps
    if steps and steps[-1].casefold() == "head":
        return _sentence(place, "a file of this name makes git take its folder for a repository")
    folder = place.top
    for step in steps:
        if step.casefold() in _IN_REPOSITORY and _has_head(folder):
            return _sentence(place, "git takes its folder for a repository and runs what it names")
        folder = os.path.join(folder, step)
    return ""


def _has_head(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "head"))


def _by_hooks_path(place: Place) -> str:
    """Whether git runs the file as a hook, because the repository's settings name its folder."""
    if not place.is_inside:
        return ""
    try:
        with open(os.path.join(place.root, ".git", "config"), encoding="utf-8") as file:
            named = _HOOKS_PATH.findall(file.read(1_000_000))
    except (OSError, UnicodeDecodeError):
        return ""
    folders = (os.path.realpath(os.path.join(place.root, os.path.expanduser(n))) for n in named)
    if any(_is_in(place.real, folder) for folder in folders):
        return _sentence(place, "git runs the files of this folder as hooks")
    return ""


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _sentence(place: Place, why: str) -> str:
    return f"{place.shown} is protected: {why}."
