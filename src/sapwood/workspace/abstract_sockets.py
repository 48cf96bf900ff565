"""Runs a program that cannot connect to the abstract sockets of others. A program of its own.

An abstract socket has a name and no file, and a program in the same network can connect to it.
Landlock closes those of other programs, from Linux 6.12 on. On older systems the program runs with
them. It uses the standard library alone, because it starts with every command that has the network.
"""

import ctypes
import os
import sys

_SET_NO_NEW_PRIVILEGES = 38
_CREATE_RULESET, _RESTRICT_SELF = 444, 446
_VERSION = 1
_FIRST_WITH_SCOPES = 6
_ABSTRACT_SOCKETS = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


def _close_abstract_sockets() -> None:
    system = ctypes.CDLL(None)
    if system.syscall(_CREATE_RULESET, None, 0, _VERSION) < _FIRST_WITH_SCOPES:
        return
    rules = _Ruleset(0, 0, _ABSTRACT_SOCKETS)
    handle = system.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if handle < 0:
        sys.exit("The abstract sockets of other programs could not be closed.")
    system.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    failed = system.syscall(_RESTRICT_SELF, handle, 0)
    os.close(handle)
    if failed:
        sys.exit("The abstract sockets of other programs could not be closed.")


if __name__ == "__main__":
    _close_abstract_sockets()
    os.execvp(sys.argv[1], sys.argv[1:])
