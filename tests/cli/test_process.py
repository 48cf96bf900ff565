"""How the process of a command starts and ends.

It ends with its exit code, also if a thread of a library never ends. It ends at once, but not
before what libraries do at the end of a process.
"""

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

_EXIT_FUNCTION = """
import atexit, sys
from sapwood import cli
from sapwood.cli import entry

class Kept:
    def __del__(self):
        print("deleted")

kept = Kept()
kept.itself = kept
entry.run = lambda args: 5
sys.argv = ["sapwood", "agents"]
atexit.register(print, "flushed")
cli.main()
"""

_COLLECTIONS = """
import gc, sys
from sapwood import cli
from sapwood.cli import entry

def run(args):
    before = gc.get_stats()[0]["collections"]
    import textual.app
    print(gc.get_stats()[0]["collections"] - before)
    return 0

entry.run = run
sys.argv = ["sapwood", "open"]
cli.main()
"""


def test_a_thread_that_never_ends_does_not_hold_the_process() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _STUCK], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (7, "done\n"), ended.stderr


def test_exit_functions_run_and_objects_are_not_deleted_one_by_one() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _EXIT_FUNCTION], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout) == (5, "flushed\n"), ended.stderr


def test_imports_are_not_searched_for_garbage_again_and_again() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _COLLECTIONS], capture_output=True, text=True, timeout=60
    )
    assert int(ended.stdout) < 10, ended.stderr
