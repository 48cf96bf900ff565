"""`sapwood config`: the configuration, value by value."""

import click

from sapwood.cli.command import Command, group, json_option
from sapwood.cli.invocation import Invocation

__all__ = ["command"]


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

    Shows every value in force and where it came from: an option, an environment variable, the file,
    or (nothing said) a default.
    """
    if context.invoked_subcommand is None:
        _list(context.ensure_object(Invocation), as_json)


@command.command("get", cls=Command, examples=["sapwood config get model"])
@click.argument("name")
@click.pass_obj
def get(invocation: Invocation, name: str) -> None:
    """Print one value."""
    from sapwood.app.config import ConfigError
    from sapwood.app.configuring import list_settings
    from sapwood.core.refusals import nearest

    found = {each.name: each.value for each in list_settings()}
    if name not in found:
        close = " or ".join(nearest(name, list(found)))
        instead = f"Did you mean {close}?" if close else "Type: sapwood config"
        raise ConfigError(f"There is no setting '{name}'. {instead}")
    click.echo(_shown(found[name]))


@command.command(
    "set", cls=Command, examples=["sapwood config set permissions '[\"allow shell(git *)\"]'"]
)
@click.argument("name")
@click.argument("value")
def set_(name: str, value: str) -> None:
    """Write a value into the file.

    What is TOML is taken as such, everything else as text. The rest of the file stays as it is.
    """
    from pathlib import Path

    from sapwood.app.choosing import doubt_about
    from sapwood.app.config import load_config
    from sapwood.app.configuring import set_setting
    from sapwood.app.opening import is_postgres

    if name == "database" and value != ":memory:" and not is_postgres(value):
        value = str(Path(value).expanduser().absolute())
    setting = set_setting(name, value)
    click.echo(f"{name} = {_shown(setting.value)}  ({setting.origin})")
    if name == "model" and (doubt := doubt_about(value, load_config())):
        click.echo(f"Stored, but: {doubt}", err=True)


@command.command("unset", cls=Command, examples=["sapwood config unset model"])
@click.argument("name")
def unset(name: str) -> None:
    """Take a value out of the file, so that the default holds again."""
    from sapwood.app.configuring import unset_setting

    file = unset_setting(name)
    click.echo(f"Took {name} out of {file}.")


@command.command(
    "key",
    cls=Command,
    examples=["sapwood config key anthropic", "pass key | sapwood config key openai"],
)
@click.argument("provider")
def key(provider: str) -> None:
    """Store the key of a provider, in a file that only you can read.

    It is asked for, or read from stdin, and never shown. Providers are anthropic, openai, google,
    and any name under base_urls. An environment variable comes before the file.
    """
    from sapwood.app.keys import require_provider, save_key
    from sapwood.cli.typed import piped

    require_provider(provider)
    given = piped()
    if given is None:
        given = click.prompt(f"Key of {provider}", hide_input=True, err=True)
    text = str(given).strip()
    if len(text.split()) != 1:
        told = "A key is one word" if text else "No key was given"
        raise click.UsageError(f"{told}. Nothing was stored.")
    click.echo(f"Stored in {save_key(provider, text)}.")


@command.command("path", cls=Command, examples=["$EDITOR $(sapwood config path)"])
def path() -> None:
    """Print where the file is, whether it exists or not."""
    from sapwood.app.config import config_file

    click.echo(config_file())


def _list(invocation: Invocation, as_json: bool) -> None:
    from sapwood.app.config import config_file
    from sapwood.app.configuring import list_settings, shown_value
    from sapwood.app.keys import key_origins
    from sapwood.cli.display.jsons import json_line
    from sapwood.cli.display.table import table
    from sapwood.cli.helping import columns
    from sapwood.cli.looking import print_lines

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


def _shown(value: object) -> str:
    from sapwood.app.toml_edit import encoded

    return value if isinstance(value, str) else encoded(value)
