"""`sapwood config`: shows and changes the configuration."""

from typing import TYPE_CHECKING

import click

from sapwood.cli.command import Command, group, json_option
from sapwood.cli.invocation import Invocation
from sapwood.cli.name_completion import SETTING

if TYPE_CHECKING:
    from sapwood.config.config_file import Config


@group(
    examples=[
        "sapwood config",
        "sapwood config set model claude-sonnet-5-5",
        "sapwood config set context.cap 50000",
        "sapwood config set base_urls.den http://127.0.0.1:11434/v1",
        "sapwood config key anthropic",
    ]
)
@json_option()
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    """Show or change the configuration.

    Shows every value and where it comes from: an option, an environment variable or the file. A
    value without a source is the default.
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(Invocation), as_json)


@command.command("get", cls=Command, examples=["sapwood config get model"])
@click.argument("name", type=SETTING)
@click.option("--secrets", is_flag=True, help="Print tokens and the passwords of addresses too.")
def get(name: str, secrets: bool) -> None:
    """Print one value, without the tokens and passwords in it."""
    from sapwood.config.editor import get_setting, without_secrets

    setting = get_setting(name)
    click.echo((setting if secrets else without_secrets(setting)).typed)


class _SetCommand(Command):
    """`config set`, whose help explains every setting."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from sapwood.config.editor import known_settings

        with formatter.section("Settings"):
            formatter.write_dl([(each.name, each.help) for each in known_settings()])
        super().format_options(ctx, formatter)


@command.command(
    "set",
    cls=_SetCommand,
    examples=["sapwood config set permissions '[\"allow shell(git *)\"]'"],
    context_settings={"ignore_unknown_options": True},  # a value may be a negative number
)
@click.argument("name", type=SETTING)
@click.argument("value")
@click.option(
    "--project",
    is_flag=True,
    help="For this folder only: when Claude Code and Codex compact here (compaction.at, "
    "compaction.automatic).",
)
def set_(name: str, value: str, project: bool) -> None:
    """Write a value to the file.

    VALUE is parsed as TOML if it is valid TOML, otherwise taken as text. If VALUE is -, it is read
    from stdin, or prompted for and not shown, so that a secret is not in the history of your shell.
    The rest of the file does not change. Where a setting's name contains NAME, put a name of your
    choice.
    """
    from pathlib import Path

    from sapwood.config.config_file import load_config
    from sapwood.config.editor import set_setting, without_secrets
    from sapwood.conversation.configured_models import setting_problem

    if value == "-":
        value = _piped_or_typed(f"Value of {name}")
        if not value:
            raise click.UsageError("No value was given. Nothing was changed.")
    if project:
        _set_for_project(name, value)
        return
    if name == "database" and value != ":memory:" and "://" not in value:
        value = str(Path(value).expanduser().absolute())
    setting = set_setting(name, value, check=_require_rules if name == "permissions" else None)
    click.echo(f"{name} = {without_secrets(setting).typed}  ({setting.origin})")
    if name.startswith("compaction."):
        _tell_programs()
    if problem := setting_problem(name, value, load_config()):
        click.echo(f"Stored, but: {problem}", err=True)


def _piped_or_typed(label: str) -> str:
    """What stdin gives, or what a person types and nobody sees, without spaces around it."""
    from sapwood.cli.console import piped_text

    given = piped_text()
    if given is None:
        given = click.prompt(label, hide_input=True, err=True)
    return str(given).strip()


@command.command("unset", cls=Command, examples=["sapwood config unset model"])
@click.argument("name", type=SETTING)
@click.option("--project", is_flag=True, help="For this folder only: compaction.at or automatic.")
def unset(name: str, project: bool) -> None:
    """Remove a value from the file, so the default applies again."""
    from sapwood.config.editor import unset_setting

    if project:
        _set_for_project(name, None)
        return
    file = unset_setting(name)
    click.echo(f"Removed {name} from {file}.")
    if name.startswith("compaction."):
        _tell_programs()


def _set_for_project(name: str, typed: str | None) -> None:
    """Writes when to compact into the settings that the connected programs have for this folder."""
    from pathlib import Path

    from sapwood.core.errors import SapwoodError
    from sapwood.programs.installation.file_edits import apply_edits, edit_lines
    from sapwood.programs.installation.installer import read_record
    from sapwood.programs.installation.project_settings import plan_project
    from sapwood.programs.registry import programs_with

    _, _, key = name.partition("compaction.")
    is_known = key == "at" and (typed is None or typed.isdecimal())
    is_known = is_known or (key == "automatic" and typed in (None, "on", "off", "ask"))
    if not is_known:
        raise SapwoodError(
            "For one project you can set compaction.at (a number of tokens) and "
            "compaction.automatic (on, off or ask)."
        )
    connected = [each for each in programs_with("installer") if read_record(each.name)]
    if not connected:
        raise SapwoodError(
            "Sapwood is not connected to a program. Type: sapwood install claude-code"
        )
    value = int(typed) if typed and key == "at" else typed
    for each in connected:
        plan = plan_project(each, Path.cwd(), key, value)
        click.echo("\n".join(edit_lines(plan.edits[:-1], ())))
        apply_edits(list(plan.edits))
        for note in plan.notes:
            click.echo(note)


def _tell_programs() -> None:
    """Writes when to compact into the settings of the connected programs, and shows the change."""
    from sapwood.programs.installation.file_edits import edit_lines
    from sapwood.programs.installation.installer import apply_install, plan_compaction
    from sapwood.programs.registry import programs_with

    for each in programs_with("installer"):
        plan = plan_compaction(each)
        if plan is None:
            continue
        if plan.edits:
            click.echo("\n".join(edit_lines(plan.edits, plan.folders)))
            apply_install(each, plan)
        for note in plan.notes:
            click.echo(note)


@command.command(
    "key",
    cls=Command,
    examples=["sapwood config key anthropic", "pass key | sapwood config key openai"],
)
@click.argument("provider")
def key(provider: str) -> None:
    """Store a provider's API key in a file only you can read.

    Prompts for the key, or reads it from stdin. The key is never shown. Providers are anthropic,
    openai, google, and any name under base_urls. An environment variable takes precedence over the
    file.
    """
    from sapwood.config.api_keys import require_provider, save_key

    require_provider(provider)
    text = _piped_or_typed(f"Key of {provider}")
    if len(text.split()) != 1:
        cause = "A key cannot contain spaces" if text else "No key was given"
        raise click.UsageError(f"{cause}. Nothing was stored.")
    click.echo(f"Stored in {save_key(provider, text)}.")


@command.command("path", cls=Command, examples=["$EDITOR $(sapwood config path)"])
def path() -> None:
    """Print the path of the configuration file, even if it does not exist."""
    from sapwood.config.config_file import config_file

    click.echo(config_file())


def _require_rules(changed: "Config") -> None:
    """Raises `RuleError` for a line that is no permission rule."""
    from sapwood.app.assembly import require_rules

    require_rules(changed.permissions)


def _list(invocation: Invocation, as_json: bool) -> None:
    from sapwood.cli.console import columns, print_lines
    from sapwood.cli.output.agent_list import table
    from sapwood.cli.output.event_text import json_line
    from sapwood.config.api_keys import key_origins
    from sapwood.config.config_file import config_file
    from sapwood.config.editor import list_settings, shown_value

    rows: list[tuple[str, str, str]] = []
    for each in list_settings():
        value, origin = shown_value(each, invocation.config), each.origin
        if each.name in ("database", "space") and getattr(invocation, each.name):
            origin = f"--{each.name}"
            value = invocation.space if each.name == "space" else value
        rows.append((each.name, value, origin))
    rows += [(f"key of {name}", "set", origin) for name, origin in key_origins().items()]
    if as_json:
        names = ("name", "value", "origin")
        print_lines(json_line(dict(zip(names, row, strict=True))) for row in rows)
        return
    short = [(name, value, origin.rpartition("/")[2]) for name, value, origin in rows]
    print_lines(table(("NAME", "VALUE", "FROM"), short, columns()))
    click.echo(f"\nThe file is {config_file()}", err=True)
