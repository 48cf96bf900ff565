"""The browser of tests, proofs and pictures: Debian's chromium, without a window."""

import os
import shutil

NO_CHROMIUM = "chromium is not installed: apt-get install chromium-headless-shell"


def find_chromium() -> str | None:
    """The executable: of `SAPWOOD_CHROMIUM`, the shell without a window, or the whole browser.

    The shell paints the same pages for half of the whole browser's processor time.
    """
    return (
        os.environ.get("SAPWOOD_CHROMIUM")
        or shutil.which("chromium-headless-shell")
        or shutil.which("chromium")
    )
