"""Attacks on files: a revert that deletes or opens what it must not touch."""

import json
import os
import shutil
import stat
import subprocess
from pathlib import Path

from proofs.attack.registry import attack, held
from proofs.attack.victim import Victim


def _git(folder: Path, *args: str) -> None:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *args], check=True, capture_output=True)


def _edits(victim: Victim, path: str, content: str) -> None:
    """A turn of the agent `me` that writes a file."""
    call = json.dumps({"path": path, "content": content})
    new = [] if victim.agents() else ["--new"]
    prompt = f"Go. [[tool: write_file {call}]] [[say: finished]]"
    ended = victim.run("run", "--agent", "me", *new, "-p", prompt, "--allow", "write_file(**)")
    held("finished" in ended.out, f"the turn did not end: {ended.text[-300:]}")


def _reverts(victim: Victim) -> str:
    """Takes the last turn of the agent back, with its files."""
    return victim.run("do", "me", "/revert --anyway").text


@attack("S10", "have a revert delete what no checkpoint covered")
def uncovered(victim: Victim) -> None:
    project = victim.project
    _git(project, "init", "--quiet")
    (project / ".git" / "info").mkdir(exist_ok=True)
    (project / ".git" / "info" / "exclude").write_text("kept.txt\n")
    (project / "kept.txt").write_text("mine")
    nested = project / "nested"
    nested.mkdir()
    _git(nested, "init", "--quiet")
    (nested / "work.txt").write_text("mine")
    _edits(victim, "a.txt", "one")
    _edits(victim, "a.txt", "two")
    (project / ".git" / "info" / "exclude").write_text("")
    shutil.rmtree(nested / ".git")
    said = _reverts(victim)
    held((project / "kept.txt").exists(), f"an excluded file was deleted: {said}")
    held((nested / "work.txt").exists(), f"a nested repository was deleted: {said}")
    held((project / "a.txt").read_text() == "one", f"nothing was reverted: {said}")


@attack("S11", "read a private file through a checkpoint, or after a revert")
def private_modes(victim: Victim) -> None:
    project = victim.project
    _git(project, "init", "--quiet")
    secret = project / "secret.txt"
    secret.write_text("private-text")
    secret.chmod(0o600)
    _edits(victim, "a.txt", "one")
    _edits(victim, "secret.txt", "changed")
    said = _reverts(victim)
    held(secret.read_text() == "private-text", f"nothing was reverted: {said}")
    mode = stat.S_IMODE(secret.stat().st_mode)
    held(mode == 0o600, f"the restored file has mode {mode:o}")
    for place in (project / ".git", victim.home / "data", victim.home / "state"):
        for folder, _, names in os.walk(place):
            if "objects" not in folder or os.stat(folder).st_mode & 0o077 == 0:
                continue
            open_files = [n for n in names if os.stat(Path(folder, n)).st_mode & 0o044]
            held(not open_files, f"checkpoint objects in {folder} are readable by others")


@attack("S16", "lead a checkpoint out of the workspace")
def beyond_the_workspace(victim: Victim) -> None:
    project = victim.project
    _git(project, "init", "--quiet")
    outside = victim.home / "outside.txt"
    outside.write_text("before")
    _git(project, "config", "core.worktree", "..")
    _git(project, "config", "core.worktree", str(victim.home))
    _edits(victim, "a.txt", "one")
    _edits(victim, "a.txt", "two")
    outside.write_text("after")
    _reverts(victim)
    held(outside.read_text() == "after", "a revert changed a file outside the workspace")


@attack("S16", "destroy the way back by deleting the repository")
def deleted_repository(victim: Victim) -> None:
    _git(victim.project, "init", "--quiet")
    _edits(victim, "a.txt", "one")
    _edits(victim, "a.txt", "two")
    shutil.rmtree(victim.project / ".git")
    said = _reverts(victim)
    held((victim.project / "a.txt").read_text() == "one", f"the way back is gone: {said}")
