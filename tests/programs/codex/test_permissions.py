"""Codex's questions, as the user sees them, and the answers that Codex takes."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from sapwood.programs.agent_provider import ProviderAnswer
from sapwood.programs.codex.app_server import ServerRequest
from sapwood.programs.codex.permissions import (
    Asked,
    answer_for,
    ask,
    permission_params,
    safe_answer,
)

YES, NO = ProviderAnswer(allowed=True), ProviderAnswer(allowed=False, reason="no")


def asked(method: str, changes: str = "", **params: Any) -> Asked:
    request = ServerRequest(3, method, Raw(msgspec.json.encode({"itemId": "c1", **params})))
    found = ask(request, "q1", changes, "/srv")
    assert found is not None
    return found


def test_a_command_is_shown_without_its_shell() -> None:
    found = asked(
        "item/commandExecution/requestApproval",
        command="/bin/bash -lc 'rm -r build'",
        cwd="/srv/wood",
        reason="it is old",
    )
    question = found.question
    assert (question.call, question.tool, question.subject) == ("c1", "exec_command", "rm -r build")
    assert (question.folder, question.preview) == ("/srv/wood", "rm -r build\nit is old")
    assert answer_for(found, YES) == {"decision": "accept"}
    assert answer_for(found, NO) == {"decision": "decline"}
    assert not found.is_edit


def test_a_change_of_files_is_shown_as_a_whole() -> None:
    found = asked("item/fileChange/requestApproval", "/srv/a.txt\n+hello", reason=None)
    assert found.question.subject == "/srv/a.txt"
    assert "+hello" in found.question.preview
    assert found.is_edit


def test_leave_to_write_anywhere_is_no_edit() -> None:
    found = asked("item/fileChange/requestApproval", "/srv/a.txt\n+hello", grantRoot="/")
    assert "anywhere below /" in found.question.preview
    assert not found.is_edit


def test_permissions_are_given_for_the_turn_alone() -> None:
    wanted = {"network": {"enabled": True}}
    found = asked("item/permissions/requestApproval", permissions=wanted, cwd="/srv")
    assert answer_for(found, YES) == {"permissions": wanted, "scope": "turn"}
    assert answer_for(found, NO) == {"permissions": {}, "scope": "turn"}


@pytest.mark.parametrize("method", ["item/tool/requestUserInput", "mcpServer/elicitation/request"])
def test_questions_that_cannot_be_shown_are_declined(method: str) -> None:
    assert ask(ServerRequest(1, method, Raw(b"{}")), "q1", "", "") is None
    assert safe_answer(method) is not None


def test_an_unknown_question_has_no_answer() -> None:
    assert ask(ServerRequest(1, "attestation/generate", Raw(b"{}")), "q1", "", "") is None
    assert safe_answer("attestation/generate") is None


def test_only_the_mode_all_has_no_sandbox() -> None:
    sandboxes = {
        mode: permission_params(mode).sandbox
        for mode in ("ask", "accept-edits", "plan", "read-only", "all")
    }
    assert [mode for mode, name in sandboxes.items() if name == "danger-full-access"] == ["all"]
    assert permission_params("ask").approval == "untrusted"
