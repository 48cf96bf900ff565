"""`sapwood serve`: serves conversations over HTTP and in a browser."""

import logging

import click
from msgspec import structs

from sapwood.cli.command import Number, folder_option, listen_options
from sapwood.cli.command import command as subcommand
from sapwood.cli.invocation import IN_TURN, Invocation
from sapwood.cli.log_files import log_format_option, log_in, logs_as_json, say
from sapwood.config.config_file import Config

_log = logging.getLogger("sapwood.server")


@subcommand(
    examples=[
        "sapwood serve",
        "sapwood serve --port 0",
        "sapwood serve --oidc-issuer https://id.example --oidc-audience sapwood",
        "sapwood serve --host 0.0.0.0 --host-name sapwood.example --no-agents",
        "sapwood serve --host-name sapwood.example --folder '*=/srv/sapwood/{space}'",
    ]
)
@listen_options(8420)
@click.option(
    "--host-name",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="Host name that other machines may use for this server; repeatable.",
)
@click.option(
    "--oidc-issuer", metavar="URL", help="Accept bearer tokens from this OpenID Connect issuer."
)
@click.option(
    "--oidc-audience", metavar="NAME", help="Audience that the issuer's tokens must have."
)
@click.option(
    "--oidc-rule",
    "oidc_rules",
    multiple=True,
    metavar="RULE",
    help="Access rule, repeatable: CLAIM=VALUE -> SPACE: SCOPE, SCOPE.",
)
@click.option(
    "--reader-database",
    metavar="ADDRESS",
    envvar="SAPWOOD_READER_DATABASE",
    help="Read conversations with this PostgreSQL login, which sees one space at a time.",
)
@click.option(
    "--drain",
    type=Number(0.0),
    default=0.0,
    metavar="SECONDS",
    help=(
        "After a stop signal, keep serving this long while /readyz returns 503, so a proxy can "
        "drain."
    ),
)
@folder_option
@click.option("--no-agents", is_flag=True, help="Do not run agents here; leave prompts to workers.")
@log_format_option
@click.pass_obj
def command(
    invocation: Invocation,
    port: int,
    host: str,
    host_names: tuple[str, ...],
    oidc_issuer: str | None,
    oidc_audience: str | None,
    oidc_rules: tuple[str, ...],
    reader_database: str | None,
    drain: float,
    folders: tuple[str, ...],
    no_agents: bool,
    log_format: str,
) -> None:
    """Serve conversations over HTTP and in a browser.

    Prints an address with a single-use token: the browser that opens it stays signed in. For
    programs and other people, create tokens: sapwood token new NAME

    On your own machine, conversations in your space work in the current folder. If others can reach
    the server, and in all other spaces, agents have no files unless you give them a folder with
    --folder.
    """
    from sapwood.config.space_folders import parse_folders, require_separate

    settings = invocation.config.serve
    settings = structs.replace(
        settings,
        oidc_issuer=oidc_issuer or settings.oidc_issuer,
        oidc_audience=oidc_audience or settings.oidc_audience,
        oidc_rules=oidc_rules or settings.oidc_rules,
    )
    given = parse_folders(folders, invocation.config.folders)
    require_separate(given)
    config = structs.replace(invocation.config, serve=settings, folders=given)
    with log_in(log_format):
        invocation.run(
            lambda: _serve(
                *(invocation, config, port, host, host_names, not no_agents),
                *(reader_database or "", drain),
            )
        )


async def _serve(
    invocation: Invocation,
    config: Config,
    port: int,
    host: str,
    host_names: tuple[str, ...],
    drives: bool,
    reader: str,
    drain: float,
) -> None:
    from sapwood.cli.run.stop_request import stop_on_signals
    from sapwood.config.api_keys import load_keys
    from sapwood_server.http_server import serve

    def print_address(address: str, token: str) -> None:
        say(_log, f"Serving on {address}. Press Ctrl-C to stop.")
        if not logs_as_json():  # logs are kept, and read by others
            click.echo(
                f"Open this in your browser (it works once): {address}/sign-in#token={token}",
                err=True,
            )

    def print_drain(seconds: float) -> None:
        say(_log, f"Draining for {seconds:g} seconds, then stopping.")

    with stop_on_signals() as stop:
        async with invocation.connected(
            opening=30.0, patience=IN_TURN, reader=reader
        ) as connection:
            await serve(
                connection,
                config,
                load_keys(),
                host=host,
                port=port,
                host_names=host_names,
                drives=drives,
                on_ready=print_address,
                stopped=stop.wait,
                drain=drain,
                on_drain=print_drain,
            )
