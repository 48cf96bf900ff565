"""An id belongs to one request, also over HTTP, and after the server forgot its first answer."""

from pathlib import Path

import pytest

import sapwood
from sapwood_server.answered_requests import AnsweredRequests
from tests.api.test_command_ids import folder, methods, require_one_use
from tests.server.serving import Served

__all__ = ["folder"]

THERE = {"checkpoint", "revert"}
"""Methods that belong to the machine of the server."""


@pytest.mark.parametrize("forgets", [False, pytest.param(True, marks=pytest.mark.night)])
@pytest.mark.parametrize("name", sorted({*methods()} - THERE))
async def test_an_id_repeats_its_own_answer_and_is_refused_for_anything_else(
    served: Served, db: sapwood.Sapwood, name: str, folder: Path, forgets: bool
) -> None:
    def between() -> None:
        if forgets:
            served.spaces.answered = AnsweredRequests()

    await require_one_use(db, name, folder, between)
