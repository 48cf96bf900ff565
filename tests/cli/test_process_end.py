"""The process ends with its exit code, also if a thread of a library never ends."""

import subprocess
import sys

_STUCK = """
import sys, threading
from sapwood import cli
from sapwood.cli import entry

def run(args):
    print("done")
    threading.Thread(target=threading.Event().wait).start()
    return 7

entry.run = run
sys.argv = ["sapwood", "worker"]
cli.main()
"""


def test_a_thread_that_never_ends_does_not_hold_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _STUCK], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (7, "done\n"), ended.stderr
