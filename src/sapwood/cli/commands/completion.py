"""`sapwood completion`: prints a completion script for a shell."""

import click

from sapwood.cli.command import command as subcommand

_VARIABLE = "_SAPWOOD_COMPLETE"


@subcommand(
    examples=[
        "echo 'eval \"$(sapwood completion bash)\"' >> ~/.bashrc",
        "echo 'eval \"$(sapwood completion zsh)\"' >> ~/.zshrc",
        "sapwood completion fish > ~/.config/fish/completions/sapwood.fish",
    ]
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a completion script for a shell.

    The script completes commands, options, agents and marks. It needs bash 4.4 or newer.
    """
    from click.shell_completion import get_completion_class

    from sapwood.cli.root import root

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(root, {}, "sapwood", _VARIABLE).source())
