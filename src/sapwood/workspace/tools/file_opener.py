"""Opens files and runs a program on them. It is run as a script.

    python -I -S file_opener.py FOLDER PROGRAM [OPTION…]

FOLDER is the number of a descriptor. The paths of the files in it are read from stdin, each with a
null byte behind it. The program gets `/dev/fd/NUMBER` for each, counted from `FIRST` on; none for
one that was deleted or became a link. This is a process of its own, so that the files do not count
among those that Sapwood may open. It imports nothing of Sapwood, so that it starts fast.
"""

import errno
import os
import resource
import stat
import sys

FIRST = 10
"""The number of the first file."""
SPARE = 20
"""How many more descriptors than files a program may need."""
FAILED = 2
"""The exit status without the program; ripgrep has the same one for a failure."""
_FOLDER = 3
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
# Without O_NONBLOCK, opening a pipe that nobody writes to would wait forever.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


def main(folder: int, command: list[str]) -> None:
    """Becomes the program. Raises `OSError` if the system opens no more files."""
    if folder != _FOLDER:
        os.dup2(folder, _FOLDER)
        os.close(folder)
    paths = sys.stdin.buffer.read().split(b"\0")[:-1]
    allow_files(FIRST + len(paths) + SPARE)
    opened: list[str] = []
    for number, path in enumerate(paths, FIRST):
        try:
            if open_as(number, path):
                opened.append(f"/dev/fd/{number}")
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                raise
    # Without a file it would search the folder; with none it still judges the pattern.
    os.execv(command[0], [*command, *(opened or [os.devnull])])


def open_as(number: int, path: bytes) -> bool:
    """Opens a file under a number without following a link. Returns whether it is a regular one."""
    *folders, name = path.split(b"/")
    current = os.dup(_FOLDER)
    try:
        for step, flags in (*((each, _STEP) for each in folders), (name, _FILE)):
            following = os.open(step, flags, dir_fd=current)
            os.close(current)
            current = following
        if not stat.S_ISREG(os.fstat(current).st_mode):
            return False
        os.dup2(current, number)
        return True
    finally:
        os.close(current)


def allow_files(count: int) -> None:
    """Raises this process's limit of open files, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), sys.argv[2:])
    except OSError as problem:
        sys.stderr.write(f"{problem.strerror}.\n")
        sys.exit(FAILED)
