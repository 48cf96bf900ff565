"""Plug-ins are loaded by name, and one that fails stops nothing else."""

import subprocess
import sys

import pytest

from sapwood.core.errors import PluginError
from sapwood.plugins import examine_plugins, load_plugin, plugin_names
from tests.plugin_distribution import InstallPlugin

GREETING = """
import click

@click.command()
@click.argument("name")
def command(name):
    '''Greet somebody.'''
    click.echo(f"Hello, {name}!")
"""


def test_a_plug_in_is_loaded_by_its_name(install_plugin: InstallPlugin) -> None:
    install_plugin("commands", "greet = greeting:command", GREETING)
    assert "greet" in plugin_names("commands")
    assert load_plugin("commands", "greet") is not None
    assert load_plugin("commands", "grumble") is None


def test_a_name_is_listed_without_an_import(install_plugin: InstallPlugin) -> None:
    install_plugin("commands", "greet = greeting:command", "raise SystemExit('imported')")
    assert "greet" in plugin_names("commands")


def test_a_plug_in_that_fails_is_named_with_its_distribution(install_plugin: InstallPlugin) -> None:
    install_plugin("commands", "greet = greeting:command", "import no_such_module")
    sentence = "The plug-in 'greet' of plugged 1.0 cannot be loaded: No module named"
    with pytest.raises(PluginError, match=sentence):
        load_plugin("commands", "greet")
    problems = examine_plugins()
    assert sentence in problems["plugged 1.0"][0]
    assert [each for each in problems if problems[each]] == ["plugged 1.0"]


def test_a_plug_in_of_ours_with_another_version_is_named(install_plugin: InstallPlugin) -> None:
    install_plugin("commands", "serve = greeting:command", "raise SystemExit('imported')")
    (problem,) = examine_plugins()["plugged 1.0"]
    assert problem.startswith("plugged 1.0 does not work with sapwood ")
    assert "Type: pip install 'sapwood[serve]==" in problem


@pytest.mark.parametrize("command", [["--version"], ["agents", "--help"], ["config", "path"]])
def test_a_command_of_our_own_looks_for_no_plug_in(command: list[str]) -> None:
    code = (
        "import sys; from sapwood.cli.entry import run; run(sys.argv[1:]); "
        "assert 'sapwood.plugins' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True)
