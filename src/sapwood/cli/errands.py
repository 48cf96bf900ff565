"""A sub-command for every action that is declared: its arguments are those of the declaration."""

from collections.abc import Callable
from typing import Any, cast

import click
import msgspec
from msgspec.inspect import BoolType, Field, IntType, Metadata, StructType, type_info

from sapwood.app.gardening.errand import ACTIONS, FOR_ALL, Action, Errand
from sapwood.cli.command import Command
from sapwood.cli.numbers import Whole

__all__ = ["action_commands", "given_above", "shared_options"]

_WORDS = {"topic": "TOPIC", "target_agent": "AGENT", "query": "WORDS..."}
_METAVARS = {"session": "ID", "transcript": "FILE", "topic": "TOPIC", "task": "TEXT"}


def action_commands(run: Callable[[Errand, bool], Any]) -> dict[str, click.Command]:
    """Each action as a command that hands an errand on, and whether JSON is wanted."""
    return {action.name: _command(action, run) for action in ACTIONS}


def shared_options() -> list[click.Parameter]:
    """What every action takes, and `--json`."""
    return [
        *(_option(_fields()[name]) for name in FOR_ALL),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    ]


def given_above(context: click.Context) -> dict[str, Any]:
    """What was said before the action, as in `context --session ID drift`."""
    above = context.parent.params if context.parent else {}
    return {name: above.get(name) for name in (*FOR_ALL, "as_json")}


def _command(action: Action, run: Callable[[Errand, bool], Any]) -> click.Command:
    def callback(**given: Any) -> Any:
        above = given_above(click.get_current_context())
        given = {**given, **{name: given[name] or value for name, value in above.items()}}
        as_json = bool(given.pop("as_json"))
        words = given.get(action.bare)
        if isinstance(words, tuple):
            given[action.bare] = " ".join(cast("tuple[str, ...]", words))
        told = {name: value for name, value in given.items() if value is not None}
        return run(msgspec.convert({"action": action.name, **told}, Errand), as_json)

    fields = _fields()
    bare = [_argument(action)] if action.bare else []
    options = [_option(fields[name]) for name in action.takes if name != action.bare]
    return Command(
        action.name,
        callback=callback,
        params=[*bare, *options, *shared_options()],
        help=f"{action.help}.",
        examples=[f"sapwood context {example}" for example in action.examples],
    )


def _argument(action: Action) -> click.Argument:
    return click.Argument(
        [action.bare], nargs=-1, required=action.name != "focus", metavar=_WORDS[action.bare]
    )


def _option(field: Field) -> click.Option:
    kind, help_ = field.type, ""
    if isinstance(kind, Metadata):
        schema = cast("dict[str, str]", kind.extra_json_schema or {})  # pyright: ignore[reportUnknownMemberType]
        help_ = schema["description"]
        kind = kind.type
    flag = f"--{field.name.replace('_', '-')}"
    match kind:
        case BoolType():
            return click.Option([flag, field.name], is_flag=True, help=f"{help_}.")
        case IntType():
            allowed = Whole(kind.ge, kind.le)
            return click.Option(
                [flag, field.name],
                type=allowed,
                default=field.default,
                show_default=True,
                metavar="N",
                help=f"{help_}.",
            )
        case _:
            metavar = _METAVARS[field.name]
            return click.Option([flag, field.name], metavar=metavar, help=f"{help_}.")


def _fields() -> dict[str, Field]:
    info = type_info(Errand)
    assert isinstance(info, StructType)
    return {field.name: field for field in info.fields}
