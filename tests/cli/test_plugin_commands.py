"""Commands that plug-ins add to the command line."""

import pytest

from sapwood.cli.root import root
from tests.cli.calling import Sapwooder
from tests.plugin_distribution import InstallPlugin
from tests.test_plugins import GREETING


def test_a_plug_in_adds_a_command(sapwood: Sapwooder, install_plugin: InstallPlugin) -> None:
    install_plugin("commands", "greet = greeting:command", GREETING)
    assert sapwood("greet", "Ada").out == "Hello, Ada!\n"
    assert "plug-ins" in sapwood("--help").out
    for shown in (sapwood("help").out, sapwood("help", "plug-ins").out):
        assert "Plug-ins:" in shown
        assert "Greet somebody." in shown


def test_a_command_that_cannot_be_loaded_stops_no_other(
    sapwood: Sapwooder, install_plugin: InstallPlugin
) -> None:
    install_plugin("commands", "greet = greeting:command", "raise RuntimeError('no')")
    assert "Type: sapwood doctor" in sapwood("help").out
    assert sapwood("config", "path").code == 0
    ran = sapwood("greet", "Ada")
    assert ran.code != 0
    assert "of plugged 1.0 cannot be loaded: no" in ran.err
    found = sapwood("doctor", "--offline")
    assert "of plugged 1.0 cannot be loaded: no" in " ".join(found.out.split())


def test_what_is_no_command_is_refused(sapwood: Sapwooder, install_plugin: InstallPlugin) -> None:
    install_plugin("commands", "greet = greeting:command", "command = 6")
    assert "is not a command" in sapwood("greet").err


def test_models_may_not_use_the_command_of_a_plug_in(
    sapwood: Sapwooder, install_plugin: InstallPlugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_plugin("commands", "greet = greeting:command", GREETING)
    monkeypatch.setenv("SAPWOOD_CALL", "1")
    assert "Models may not use 'sapwood greet'" in sapwood("greet", "Ada").err


def test_completion_survives_a_plug_in_that_fails(install_plugin: InstallPlugin) -> None:
    from click.shell_completion import ShellComplete

    install_plugin("commands", "greet = greeting:command", "raise RuntimeError('no')")
    completion = ShellComplete(root, {}, "sapwood", "_SAPWOOD_COMPLETE")
    assert completion.get_completions(["greet"], "--") is not None
