"""A home with secrets, a project and another repository, and what must be so after an attack."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from proofs.attack.registry import held
from proofs.attack.victim import NOBODY, Victim, script

_WHO = ("-c", "user.name=P", "-c", "user.email=p@example.com", "-c", "safe.directory=*")
_MISSING = b"missing"
_LOCAL = ("-c", "protocol.file.allow=always")


@dataclass(frozen=True)
class Escape:
    """Commands of a model that try to leave the sandbox, one call of `shell` each.

    `prepare` changes the world before. `watched` are paths of the home that must stay as they are,
    or missing. In commands, {home}, {marker} and {config} stand for the home, for the file whose
    existence proves that something ran outside, and for a command that prints settings of git that
    make it.
    With `as_other` it is also tried as another user. `act` has the model run the commands, if that
    is not one after the other in one turn.
    """

    id: str
    sentence: str
    commands: tuple[str, ...]
    prepare: "Callable[[EscapeWorld], None] | None" = None
    settings: str = ""
    folder: str = "project"
    watched: tuple[str, ...] = ()
    as_other: bool = False
    act: "Callable[[EscapeWorld, Sequence[str]], None] | None" = None


class EscapeWorld:
    """The world of one escape. `user` is who runs Sapwood; None for the user of the proof."""

    def __init__(self, victim: Victim, user: int | None) -> None:
        self.victim = victim
        self.home = victim.home
        self.project = victim.project
        self.user = user
        self.marker = self.home / "ran-outside"
        for path, text in (
            (".ssh/id_ed25519", "PRIVATE-KEY-TEXT"),
            (".ssh/authorized_keys", "mine\n"),
            (".bashrc", "mine\n"),
        ):
            self.put(path, text)
        for folder in ("project", "other"):
            self.put(f"{folder}/a.txt", "1\n")
            self.git(folder, "init", "--quiet")
            self.git(folder, "add", ".")
            self.git(folder, "commit", "--quiet", "--message=One")

    def put(self, path: str, text: str) -> None:
        """Writes a file of the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def git(self, folder: str, *words: str) -> None:
        """Runs git in a folder of the home."""
        command = ["git", *_WHO, *_LOCAL, *words]
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        subprocess.run(command, cwd=self.home / folder, env=env, check=True, capture_output=True)

    @property
    def config(self) -> str:
        """A command that prints settings with which `git status` leaves the marker."""
        return f"printf '[core]\\n\\tfsmonitor = touch {self.marker}; false\\n'"

    @property
    def hook(self) -> str:
        """A command that prints a program that leaves the marker."""
        return f"printf '#!/bin/sh\\ntouch {self.marker}\\n'"

    def run(self, escape: Escape) -> None:
        """Has the model run the commands, each allowed by a rule, and checks the world."""
        if escape.prepare:
            escape.prepare(self)
        self.victim.configure(escape.settings or 'sandbox = "on"')
        watched = {path: _content(self.home / path) for path in escape.watched}
        outside = self._outside()
        words = {"home": self.home, "marker": self.marker, "config": self.config, "hook": self.hook}
        calls = [each.format(**words) for each in escape.commands]
        if escape.act:
            escape.act(self, calls)
        else:
            self.ask(calls, escape.folder)
        self._person_works()
        for path, before in watched.items():
            held(_content(self.home / path) in (before, _MISSING), f"{path} was changed")
        held(self._outside() == outside, f"{self._difference(outside)} changed outside")
        held("PRIVATE-KEY-TEXT" not in self.victim.requests(), "a private key was read")

    def ask(self, calls: Sequence[str], folder: str = "project", rule: str = "shell") -> None:
        """Has the model run commands, in one turn of one process."""
        prompt = script(*(("shell", {"command": call}) for call in calls))
        self.give_away()
        allow = ["--allow", rule] if rule else []
        env: dict[str, str] = {}
        python = sys.executable
        if self.user is not None and not _may_run(python, self.user):
            # A Python in the home folder of the user who runs the proof.
            python = "/usr/bin/python3"
            packages = sysconfig.get_path("platlib")
            env["PYTHONPATH"] = f"{self.victim.env()['PYTHONPATH']}:{packages}"
        command = self.victim.command("run", "-p", prompt, *allow, python=python)
        place = self.home / folder
        ended = self.victim.call(command, folder=place, user=self.user, env=env)
        held("finished" in ended.out, f"the turn did not end: {ended.text[-300:]}")

    def give_away(self) -> None:
        """Makes the user the owner of the home."""
        if self.user is not None:
            owner = f"{self.user}:{self.user}"
            subprocess.run(["chown", "-hR", owner, str(self.home)], check=True)

    def _person_works(self) -> None:
        """The person looks at each repository and commits, as they would the next morning."""
        tops = {path.parent for path in self.home.glob("*/.git")}
        tops |= {path.parent for path in self.project.glob("*/.git")}
        for top in sorted(tops):
            for words in (("status",), ("add", "-A"), ("commit", "-qm", "Two", "--allow-empty")):
                self.victim.call(["git", *_WHO, *words], folder=top, user=self.user)
        held(not self.marker.exists(), "the person's git ran a program that a command planted")

    def _outside(self) -> dict[str, bytes]:
        """What is in the home besides projects and Sapwood's own files."""
        paths = [self.home / ".bashrc", *sorted((self.home / ".ssh").rglob("*"))]
        paths += sorted((self.home / "other" / ".git").glob("hooks/*"))
        paths += [self.home / "other" / ".git" / "config"]
        return {str(path.relative_to(self.home)): _content(path) for path in paths}

    def _difference(self, before: dict[str, bytes]) -> str:
        after = self._outside()
        changed = [path for path in {*before, *after} if before.get(path) != after.get(path)]
        return ", ".join(sorted(changed))


def other_user() -> int | None:
    """Another user to run the program as; None if this user cannot do that."""
    return NOBODY if os.geteuid() == 0 else None


@cache
def _may_run(program: str, user: int) -> bool:
    try:
        return subprocess.run([program, "-c", ""], user=user, check=False).returncode == 0
    except PermissionError:
        return False


def _content(path: Path) -> bytes:
    """The content of a file; of a folder, its names; a marker if there is nothing."""
    if path.is_symlink():
        return b"link to " + os.fsencode(path.readlink())
    if path.is_dir():
        return b"folder " + b" ".join(sorted(os.fsencode(each.name) for each in path.iterdir()))
    return path.read_bytes() if path.exists() else _MISSING
