"""What is said about a thread that another Codex has open."""

from sapwood.programs.codex.server_starts import open_elsewhere


def test_the_background_server_of_codex_is_named_with_the_command_that_ends_it() -> None:
    told = open_elsewhere("01a1")  # it keeps a thread open after its screen was left
    assert "Close it there with /quit." in told
    assert "codex app-server daemon stop" in told
