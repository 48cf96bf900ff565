"""Tests on this machine which agent programs allow that their sessions are changed in place."""

import os
from collections.abc import Mapping

from msgspec import Struct

from sapwood.programs.installed_programs import make_provider
from sapwood.programs.registry import programs_with


class ProgramReport(Struct, frozen=True, omit_defaults=True):
    """An installed program, and the result of its test. `tested` is a time in microseconds."""

    program: str
    version: str
    path: str
    in_place: bool
    tested: int
    reason: str = ""


def examine_programs(
    environ: Mapping[str, str] = os.environ, *, again: bool = False
) -> list[ProgramReport]:
    """Tests each installed program that was not tested, or all of them `again`.

    A test takes some seconds, starts the program in a scratch home, and reads nothing of the user.
    """
    found: list[ProgramReport] = []
    for each in programs_with("probe"):
        info = make_provider(each.name, environ=environ).prove(again=again)
        if info is not None:
            found.append(
                ProgramReport(
                    each.name,
                    info.version,
                    info.path,
                    bool(info.in_place),
                    int(info.tested * 1_000_000),
                    info.reason,
                )
            )
    return found
