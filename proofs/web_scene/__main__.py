"""The command line of the proof; its last line is the figure."""

import argparse
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from proofs.agents_e2e.environment import ProofError, find_programs
from proofs.agents_e2e.namespace import enter_namespace, reaches_outside
from proofs.providers_e2e.act_checks import ActChecks
from proofs.providers_e2e.conversation import Conversation
from proofs.providers_e2e.support_table import version_of
from proofs.providers_e2e.temporary_home import temporary_home
from proofs.web_scene.scene import Scene
from proofs.web_scene.served_home import ServedHome
from tools.browser import NO_CHROMIUM, find_chromium

PROGRAMS = ("claude-code", "codex")


def main(arguments: list[str]) -> int:
    """Runs the scene with each program; returns 1 if a check failed."""
    parser = argparse.ArgumentParser(prog="python -m proofs.web_scene", description=__doc__)
    parser.add_argument("program", nargs="?", choices=PROGRAMS, help="only this one")
    parser.add_argument("--pictures", type=Path, help="write pictures of the page to this folder")
    options = parser.parse_args(arguments)
    chromium = find_chromium()
    try:
        if chromium is None:
            raise ProofError(NO_CHROMIUM)
        find_programs()
        enter_namespace(arguments, "proofs.web_scene")
    except ProofError as error:
        print(f"web-scene: {error}", file=sys.stderr)
        return 1
    checks, started = ActChecks(), time.monotonic()
    checks.expect("no way leads out of here", not reaches_outside())
    names = (options.program,) if options.program else PROGRAMS
    for name in names:
        _play(name, checks, chromium, options.pictures)
    seconds = time.monotonic() - started
    total = checks.passed + checks.failed
    done = f"{checks.passed} of {total} passed"
    print(f"web-scene: {done} with {', '.join(names)} in {seconds:.0f} s")
    return int(checks.failed > 0)


def _play(program: str, checks: ActChecks, chromium: str, pictures: Path | None) -> None:
    with temporary_home() as (home, model):
        checks.begin(program, f"Version {version_of(home, program)}, driven in the browser")
        with ServedHome(home) as served, sync_playwright() as player:
            browser = player.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
            )
            page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
            page.set_default_timeout(60_000)
            talk = Conversation(home, model, checks, program)
            Scene(page, served, talk, pictures).play()
            browser.close()
        checks.expect("the model refused nothing", not model.rejections, model.rejections)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
