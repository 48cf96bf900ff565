"""Faces show what the conversation service answers: they import values, and decide nothing."""

import ast
import importlib
import inspect
import typing
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from msgspec import Struct

from sapwood.core.command_table import TABLE
from tests.source_files import SAPWOOD, source_files

FACES = ("api", "cli", "mcp_server", "tui")
PLUGIN_FACES = ("sapwood_acp", "sapwood_frameworks", "sapwood_server")
NO_FACES = (
    "sapwood_server/client/",
    "sapwood_server/served_space.py",
    "sapwood_server/server_tables.py",
)
"""Files of the server that are no face: its client is a store, and two files wire it."""
USE_CASES = frozenset(
    {"conversation", "context_actions", "doctor", "imports", "lifecycle", "report"}
)
MAY_USE = frozenset({*FACES, *USE_CASES, "app", "config", "display", "hooks", "journal", "plugins"})
"""Packages whose functions a face may call: faces, use cases, wiring, configuration, rendering."""

NOT_FOR_FACES = ("sapwood.core.decide", "sapwood.core.evolve", "sapwood.conversation.handlers")
"""Modules of which a face may not even import a value."""

MADE_FOR_FACES = (
    "sapwood.core.timeline",  # pure: the rows of a conversation
    "sapwood.turns.conversion",  # pure: the conversion of arguments
    "sapwood.programs.installation",  # a use case: `sapwood install`
)

# Functions that turn values into words or into other values. They read no state.
PURE_FUNCTIONS = {
    "sapwood.core.checkpoint": {"describe_left_out"},  # files without a checkpoint, in words
    "sapwood.core.errors": {"accepted"},  # an answer, or its refusal as an error
    "sapwood.core.ids": {"can_be_stored"},  # whether a text can be an id
    "sapwood.core.turn_numbers": {"joined_places", "parse_place", "turn_place"},  # `3`, `NAME/3`
    "sapwood.core.plural": {"counted", "either"},  # a number with its noun, `a or b`
    "sapwood.core.token_count": {"show", "show_tokens"},  # `77k` or `~77k`
    "sapwood.core.settings": {"is_guarded"},  # whether a setting needs a right of its own
    "sapwood.turns.gate": {"as_actor"},  # who acts, of the exact class
    "sapwood.turns.command_batch": {"request_text"},  # what was asked for, as a text
    # the folder of the log files, and the file that a person names for the output
    "sapwood.private_files": {"private_folder", "replace_file"},
    "sapwood.core.refusals": {"nearest"},  # names close to a mistyped one
    "sapwood.core.event_texts": {"event_summary", "event_texts"},
    # the signature of a thought, which an integration takes apart
    "sapwood.models.wire.signatures": {"decode_reasoning", "encode_reasoning"},
    # the rules for messages that pydantic-ai sends
    "sapwood.models.wire.message_parts": {
        "arguments_object",
        "call_id",
        "is_own_thinking",
        "model_parts",
        "result_text",
        "tool_name",
        "user_content",
    },
    "sapwood.workspace.permissions.permission_rules": {"next_mode"},  # the next permission mode
    "sapwood.core.tags": {"entries_of"},  # metadata as pairs
    "sapwood.log_fields": {"current_fields"},  # the agent and the trace of a log message
    "sapwood.redaction": {"mask_secrets"},  # a text without its secrets
    # facts about agent programs, and what to type to resume a session
    "sapwood.programs.registry": {
        "program",
        "program_executor",
        "program_of_transcript",
        "program_title",
        "programs_with",
        "resume_command_for",
        "runs_turns",
    },
    "sapwood.core.view.frames": {"how_it_ended", "how_it_was_cut"},  # the end of a reply, in words
}

Import = tuple[str, str, str]
"""File, module, name."""


def face_files() -> dict[str, Path]:
    return {
        name: path
        for name, path in source_files().items()
        if name.split("/")[0] in (*FACES, *PLUGIN_FACES) and not name.startswith(NO_FACES)
    }


def imports(file: str) -> Iterator[Import]:
    """Every name that a file imports from Sapwood, wherever in the file.

    Of a module that is imported whole, every name that the file uses.
    """
    tree = ast.parse(source_files()[file].read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == "sapwood":
                for alias in node.names:
                    inner = f"{module}.{alias.name}"
                    if isinstance(
                        getattr(importlib.import_module(module), alias.name, None), ModuleType
                    ):
                        modules[alias.asname or alias.name] = inner
                    else:
                        yield file, module, alias.name
            case ast.Import(names=names):
                yield from ((file, n.name, "") for n in names if n.name.startswith("sapwood."))
            case _:
                pass
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name in modules:
                yield file, modules[name], attr
            case _:
                pass


def is_value(thing: object) -> bool:
    """Whether a name stands for a value or the type of one, and not for something that acts.

    A type of values is a Struct, a tuple, an exception, a Protocol or an alias of types.
    """
    if isinstance(thing, ModuleType):
        return True
    if inspect.isclass(thing):
        is_protocol = bool(getattr(thing, "_is_protocol", False))
        return issubclass(thing, Struct | BaseException | str | int | tuple) or is_protocol
    return (
        not callable(thing) or isinstance(thing, typing.NewType) or bool(typing.get_origin(thing))
    )


def is_allowed(found: Import) -> bool:
    _, module, name = found
    if module.startswith(NOT_FOR_FACES):
        return False
    parts = module.split(".")
    if (len(parts) > 1 and parts[1] in MAY_USE) or module.startswith(MADE_FOR_FACES):
        return True
    if name in PURE_FUNCTIONS.get(module, ()):
        return True
    return is_value(getattr(importlib.import_module(module), name, None)) if name else False


def test_a_face_imports_use_cases_display_and_values() -> None:
    found = {each for file in face_files() for each in imports(file)}
    assert sorted(each for each in found if not is_allowed(each)) == []


# A hook answers within milliseconds and before there is a database. It reads the transcript itself.
READ_BY_HOOKS = ("sapwood.analysis", "sapwood.programs.transcripts", "sapwood.tokens")
"""Packages that only read: what a transcript says, what it means, and how many tokens it has."""

ALSO_FOR_HOOKS = {
    "sapwood.models": {"window_of"},  # the window of a model, by its name
    # an archive is completed later; one process waits for the end of a session
    "sapwood.private_files": {"release_lock", "replace_file", "try_lock"},
    "sapwood.turns.clock_and_ids": {"new_nonce"},  # the fence around quoted text
}


def may_be_used_by_hooks(found: Import) -> bool:
    _, module, name = found
    is_reader = module.startswith(READ_BY_HOOKS) or name in ALSO_FOR_HOOKS.get(module, ())
    return is_reader or is_allowed(found)


def test_a_hook_reads_transcripts_and_changes_conversations_by_use_cases_alone() -> None:
    files = [file for file in source_files() if file.startswith("hooks/")]
    found = {each for file in files for each in imports(file)}
    assert sorted(each for each in found if not may_be_used_by_hooks(each)) == []
    assert not may_be_used_by_hooks(("hooks/x.py", "sapwood.turns.dispatch", "Dispatcher"))


@pytest.mark.parametrize(
    "found",
    [
        ("tui/x.py", "sapwood.core.decide", "decide"),
        ("tui/x.py", "sapwood.core.evolve", "evolve"),
        ("tui/x.py", "sapwood.core.view", "view"),
        ("cli/x.py", "sapwood.turns.dispatch", "Dispatcher"),
        ("cli/x.py", "sapwood.turns.clock_and_ids", "command_meta"),
        ("api/x.py", "sapwood.turns.revert", "Reverter"),
        ("api/x.py", "sapwood.conversation.handlers.context", "clear"),
        ("api/x.py", "sapwood.store.sqlite", "SqliteLog"),
    ],
)
def test_what_acts_is_not_for_faces(found: Import) -> None:
    assert not is_allowed(found)


# A face that asks for the name of a command is about to answer it by itself.

ABOUT_COMMANDS = ("command", "row.name", "run", "slash", "typed", "line", "text")
"""Parts of names by which code speaks of what was typed."""


def comparisons(tree: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """What code compares by `==`, `in` or `case`: one side, and the other side."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=others):
                sides = [left, *others]
                yield from ((side, [each for each in sides if each is not side]) for side in sides)
            case ast.Match(subject=subject, cases=cases):
                patterns = [each for case in cases for each in ast.walk(case.pattern)]
                values = [each.value for each in patterns if isinstance(each, ast.MatchValue)]
                yield subject, values
            case _:
                pass


def compared_names(tree: ast.AST) -> Iterator[str]:
    """Names of commands that code compares what was typed with."""
    for subject, others in comparisons(tree):
        constants = (each for other in others for each in ast.walk(other))
        texts = (each.value for each in constants if isinstance(each, ast.Constant))
        named = [text for text in texts if isinstance(text, str) and names_a_command(text)]
        if named and any(part in ast.unparse(subject) for part in ABOUT_COMMANDS):
            yield from named


def names_a_command(text: str) -> bool:
    return TABLE.get(text.removeprefix("/").partition(" ")[0]) is not None


def test_no_face_handles_a_command_by_itself() -> None:
    found = {
        (file, name)
        for file, path in face_files().items()
        for name in compared_names(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        'if run.command.name == "wait": pass',
        'if command in ("diff", "context"): pass',
        'match run.command.name:\n    case "compact": pass',
        'if text == "/exit": pass',
    ],
)
def test_a_face_that_handles_a_command_is_found(source: str) -> None:
    assert list(compared_names(ast.parse(source)))


def test_only_the_output_gate_makes_terminal_sequences() -> None:
    """`styled` marks sequences as ours; the gate would show those of `click.style` as text."""
    files = (SAPWOOD / "cli").rglob("*.py")
    found = [
        path.name
        for path in files
        if path.name != "output_gate.py"
        and any(word in path.read_text(encoding="utf-8") for word in ("click.style", "click.secho"))
    ]
    assert found == []
