"""The plugin folder is whole, and calls Sapwood in a way that fails open."""

import json
import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from sapwood.analysis.compaction_warning import CompactionNotice
from sapwood.conversation.cut_preview import ReturnCost
from sapwood.hooks.runner import HOOKS, SECONDS
from sapwood.programs.installation.plugin_files import PLUGIN, plugin_files, plugin_version
from sapwood.programs.program import Program
from sapwood.programs.registry import programs_with

_TYPED = re.compile(r"```!\s*\n?([\s\S]*?)\n?```|(?<=\s)!`([^`]+)`")
"""What Claude Code has a shell run, in the text of a command."""
COMMANDS = sorted(
    file.stem for file in (PLUGIN / "commands").glob("*.md") if "Bash(" in file.read_text()
)
"""The commands that run something."""
HOSTILE = (
    "",
    "2",
    "--keep 2 the names",
    'don\'t lose the "endpoint" names',
    "keep the names (see notes)",
    "$(touch x) `touch x` $HOME \\",
    "a; touch x & touch y | touch z > w",
    "two\nlines\n# three",
    "first\nSAPWOOD_END\ntouch x",
    "EOF\n'\n\"\n)",
    "a\nSAPWOOD_END!`\ntouch x",
    "a\nSAPWOOD_END\\! `\ntouch x\n!`touch x`",
)
CUT = (
    "keep the parser:\n```py\ndef f(): ...\n```\nand the tests",
    "notes ``` !`touch x` ```",
    "notes\n```!\ntouch x\n```",
)
"""Words that end what Claude Code passes to a shell."""


def with_words(text: str, words: str) -> str:
    """The text of a command with words, as Claude Code 2.1.197 puts them into it."""
    return text.replace("$ARGUMENTS", words.replace("```!", "``` \\!").replace("!`", "! `"))


def typed_in(text: str) -> str:
    """What the shell runs for a command of this text."""
    (found,) = _TYPED.findall(text)
    return found[0] or found[1]


def commands(hooks: bytes) -> dict[str, tuple[str, int]]:
    told = json.loads(hooks)["hooks"]
    return {
        event: (matchers[0]["hooks"][0]["command"], matchers[0]["hooks"][0]["timeout"])
        for event, matchers in told.items()
    }


def test_the_version_is_that_of_the_package() -> None:
    assert plugin_version() == version("sapwood")


def test_every_hook_is_called_under_its_own_name() -> None:
    called = commands(plugin_files(("/x/sapwood",))["hooks/hooks.json"])
    names = {event: re.sub(r"(?<!^)(?=[A-Z])", "-", event).lower() for event in called}
    assert {*names.values(), "status-line"} == set(HOOKS)
    for event, name in names.items():
        assert called[event][0].endswith(f"exec /x/sapwood hook {name}")


def test_the_programs_wait_longer_than_a_hook_takes() -> None:
    waits = {event: wait for event, (_, wait) in commands(_shipped()).items()}
    assert min(waits.values()) > SECONDS
    assert waits["SessionEnd"] <= 3  # Codex cuts it there, and complains about more


@pytest.mark.parametrize("files", [None, ("/nowhere/sapwood",)], ids=["shipped", "installed"])
def test_a_sapwood_that_is_gone_is_no_error(files: tuple[str] | None, tmp_path: Path) -> None:
    hooks = plugin_files(files)["hooks/hooks.json"] if files else _shipped()
    empty = {"PATH": str(tmp_path)}
    for command, _ in commands(hooks).values():
        done = subprocess.run(
            ["/bin/sh", "-c", command], env=empty, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_folder_with_spaces_is_called_all_the_same(tmp_path: Path) -> None:
    program = tmp_path / "a folder" / "sapwood"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho called $*\n")
    program.chmod(0o755)
    called = commands(plugin_files((str(program),))["hooks/hooks.json"])
    done = subprocess.run(
        ["/bin/sh", "-c", called["Stop"][0]], capture_output=True, text=True, check=True
    )
    assert done.stdout == "called hook stop\n"


def test_the_server_is_called_without_a_shell() -> None:
    server = json.loads(plugin_files(("python", "-m", "sapwood.cli"))[".mcp.json"])
    told = server["mcpServers"]["sapwood"]
    assert [told["command"], *told["args"]] == ["python", "-m", "sapwood.cli", "mcp"]


def test_the_server_gets_the_variables_that_say_where_things_are() -> None:
    """Codex gives a server only the variables that it names, and hooks get all of them."""
    server = json.loads(plugin_files(("sapwood",))[".mcp.json"])["mcpServers"]["sapwood"]
    wanted = {"SAPWOOD_CONFIG", "SAPWOOD_DATA", "SAPWOOD_DATABASE", "SAPWOOD_SPACE", "CODEX_HOME"}
    assert wanted <= set(server["env_vars"])


def test_nothing_in_the_folder_names_a_place_that_only_one_program_knows() -> None:
    for folder, _, names in os.walk(PLUGIN):
        for name in names:
            assert "CLAUDE_PLUGIN_ROOT" not in (Path(folder) / name).read_text(encoding="utf-8")


def _shipped() -> bytes:
    return (PLUGIN / "hooks" / "hooks.json").read_bytes()


@pytest.mark.parametrize("name", COMMANDS)
def test_slash_commands_run_the_installed_sapwood_and_nothing_else(name: str) -> None:
    files = plugin_files(("/usr/my tools/sapwood",))
    text = files[f"commands/{name}.md"].decode()
    own = f"'/usr/my tools/sapwood' context {name}"
    assert f"allowed-tools: Bash({own}:*)" in text
    assert typed_in(text).startswith(f"{own} ")
    shipped = (PLUGIN / "commands" / f"{name}.md").read_text()
    assert typed_in(shipped).startswith(f"sapwood context {name} ")


def run_by_the_program(name: str, words: str, folder: Path) -> tuple[list[str], str]:
    """The arguments and the input of the one program that a slash command with words runs."""
    text = (PLUGIN / "commands" / f"{name}.md").read_text()
    folder.mkdir()
    program = folder / "sapwood"
    program.write_text('#!/bin/sh\nprintf "%s|" "$@" >> arguments\ncat >> stdin\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", typed_in(with_words(text, words))],
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert not done.stderr or "here-document" in done.stderr
    assert {each.name for each in folder.iterdir()} == {"sapwood", "arguments", "stdin"}
    given = (folder / "arguments").read_text().split("|")[:-1]
    return given, (folder / "stdin").read_text()


@pytest.mark.parametrize("words", HOSTILE)
@pytest.mark.parametrize("name", COMMANDS)
def test_the_words_of_a_slash_command_reach_sapwood_as_they_are(
    name: str, words: str, tmp_path: Path
) -> None:
    """Claude Code puts the words into the text, then has a shell run what is marked in it."""
    given, stdin = run_by_the_program(name, words, tmp_path / "here")
    takes_words = name not in ("undo", "redo")
    reading = ["-", "--last-line", "END_OF_WORDS"] if takes_words else []
    assert given == ["context", name, *reading, *(["--later"] * (name != "mark"))]
    passed = words.replace("!`", "! `")
    assert stdin == (f"{passed}\nEND_OF_WORDS\n" if takes_words else "")


@pytest.mark.parametrize("words", CUT)
@pytest.mark.parametrize("name", [each for each in COMMANDS if each not in ("undo", "redo")])
def test_words_that_a_program_cuts_come_without_their_last_line_and_run_nothing(
    name: str, words: str, tmp_path: Path
) -> None:
    given, stdin = run_by_the_program(name, words, tmp_path / "here")
    assert given[2:5] == ["-", "--last-line", "END_OF_WORDS"]
    assert "END_OF_WORDS" not in stdin


@pytest.mark.parametrize(
    "agent",
    [each for each in programs_with("hooks") if each.own_command.startswith("/")],
    ids=lambda agent: agent.name,
)
def test_notices_in_a_program_name_only_commands_that_its_plugin_has(agent: Program) -> None:
    notices = (
        CompactionNotice(turns=41, command=agent.own_command, matter="12 15").describe(),
        ReturnCost(214_000, None, keep=8).sentence(agent.own_command),
    )
    named = re.findall(r"/sapwood:(\w+)", " ".join(notices))
    assert named == ["undo", "bring", "clear"]
    files = agent.installer.files(("sapwood",))
    registered = {Path(name).stem for name in files if name.startswith("commands/")}
    if extension := files.get("index.js", b"").decode():
        (table,) = re.findall(r"const COMMANDS = \{(.*?)\n\};", extension, re.DOTALL)
        registered = set(re.findall(r"^  (\w+):", table, re.MULTILINE))
    assert set(named) <= registered
