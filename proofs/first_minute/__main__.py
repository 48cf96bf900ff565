"""`python -m proofs.first_minute`: the first minute of a new user, from the built wheel.

Each way in has a clean home, a fresh environment and a terminal of 80×24, and may take 60 seconds
without the download. Only loopback can be reached; a scripted model answers.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.home import Home
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.agents_e2e.terminal import answer_first_questions
from proofs.first_minute import dead_ends, doors
from proofs.first_minute.installation import Installation
from proofs.first_minute.newcomer import Newcomer
from proofs.tui_tmux.terminal import Failed
from scripted_model import ScriptedModel

LIMIT = 60.0
"""The time limit of each way in, in seconds."""


class Scene(NamedTuple):
    """One way in, or one dead end."""

    play: Callable[[Newcomer, ScriptedModel], None]
    is_dead_end: bool = False
    has_programs: bool = False
    """Whether Claude Code and Codex are installed."""
    extra: str = ""
    key: str | None = None
    """The only API key that the model accepts."""


SCENES = {
    "terminal": Scene(doors.terminal),
    "script": Scene(doors.script),
    "claude-code": Scene(doors.claude_code, has_programs=True),
    "codex": Scene(doors.codex, has_programs=True),
    "page": Scene(doors.page, extra="[serve]"),
    "library": Scene(doors.library),
    "wrong-key": Scene(dead_ends.wrong_key, True, key=dead_ends.RIGHT),
    "revoked-key": Scene(dead_ends.revoked_key, True, key=dead_ends.RIGHT),
    "wrong-key-in-a-script": Scene(dead_ends.wrong_key_in_a_script, True, key=dead_ends.RIGHT),
    "no-network": Scene(dead_ends.no_network, True),
    "unknown-model": Scene(dead_ends.unknown_model, True),
    "full-disk": Scene(dead_ends.full_disk, True),
    "escape-everywhere": Scene(dead_ends.escape_everywhere, True),
    "no-session": Scene(dead_ends.no_session, True),
}


def main(arguments: list[str]) -> int:
    """Installs, enters the namespace and runs; returns 1 if one failed or took too long."""
    parser = argparse.ArgumentParser(prog="python -m proofs.first_minute", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"only some of {', '.join(SCENES)}"
    )
    parser.add_argument("--screens", type=Path, help="write each screen that was seen here")
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)  # of the installation
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(SCENES):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SCENES)}")
    names = tuple(name for name in SCENES if not options.names or name in options.names)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="first-minute-", dir="/var/tmp"))
    try:
        wants = any(SCENES[name].has_programs for name in names)
        programs = find_programs() if wants else {}
        if options.folder is None:
            _install(Installation(folder), names)
        enter_namespace([*arguments, "--folder", str(folder)], "proofs.first_minute")
        if reaches_outside():
            raise ProofError("An outside address can be reached from the namespace.")
        return _run(names, Installation(folder), programs, options.screens)
    except ProofError as error:
        print(f"first-minute: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _install(installation: Installation, names: tuple[str, ...]) -> None:
    began = time.monotonic()
    installation.build()
    for name in names:
        installation.install(name, SCENES[name].extra)
    print(f"built and installed {len(names)} times in {time.monotonic() - began:.0f} s", flush=True)


def _run(
    names: tuple[str, ...], installation: Installation, programs: dict[str, Path], kept: Path | None
) -> int:
    failed, longest = 0, 0.0
    for name in names:
        began = time.monotonic()
        try:
            sentence = _play(name, installation, programs, kept)
            seconds = time.monotonic() - began
            if not SCENES[name].is_dead_end:
                longest = max(longest, seconds)
                if seconds > LIMIT:
                    raise Failed(f"it took {seconds:.0f} s; at most {LIMIT:g} s are allowed")
        except Failed as failure:
            failed += 1
            print(f"  NO  {name}: {failure}", flush=True)
        else:
            print(f"  ok  {name:22} {seconds:4.0f} s  {sentence}", flush=True)
    ends = sum(SCENES[name].is_dead_end for name in names)
    print(
        f"first-minute: {len(names) - ends} ways in, the longest {longest:.0f} s; "
        f"{ends} dead ends; {failed} failed"
    )
    return int(failed > 0)


def _play(
    name: str, installation: Installation, programs: dict[str, Path], kept: Path | None
) -> str:
    """Plays one of them in a new home, and returns what it shows."""
    scene, place = SCENES[name], installation.home(name)
    with ScriptedModel(allow={"anthropic": ["safeguards"]}, key=scene.key) as model:
        model.script(doors.answer)
        variables: dict[str, str] = {}
        if scene.has_programs:
            home = Home(place, programs, model)
            answer_first_questions(home)
            variables = {**home.environ, "PATH": f"{place}/bin:/usr/bin:/bin"}
            del variables["PYTHONPATH"]  # the wheel is what is tried
        user = Newcomer(place, installation.environment(name), variables, kept)
        try:
            user.open_shell()
            scene.play(user, model)
        finally:
            user.close()
        if model.rejections and scene.key is None:
            raise Failed(f"the model refused: {model.rejections[0].message}")
    return (scene.play.__doc__ or "").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
