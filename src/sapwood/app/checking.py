"""An examination of the installation: what is configured, what can be reached, what is missing.

Looks and changes nothing: a database that is not there is not made.
"""

import asyncio
import os
import platform
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import structs

from sapwood.app.checkpointing import examine_checkpoints
from sapwood.app.choosing import require_model
from sapwood.app.config import Config, ConfigError, config_file, load_config
from sapwood.app.findings import Finding
from sapwood.app.installing.checking import examine_agents
from sapwood.app.keys import PROVIDERS, key_origins, load_keys
from sapwood.app.opening import is_full, is_postgres, shown_address
from sapwood.app.tracing import spans_go_to
from sapwood.app.unreadable import Tell, examine_events
from sapwood.core.calling import Failure
from sapwood.core.errors import LogError
from sapwood.models import window_of
from sapwood.models.names import resolve

__all__ = ["Finding", "examine"]

_SECONDS = 5.0
_EXTRA = re.compile(r"([A-Za-z0-9._-]+)[^;]*;.*extra == ['\"]([^'\"]+)['\"]")
_USES = {
    "engine": "turns that survive crashes, and workers",
    "mcp": "tools of MCP servers",
    "models": "asking models",
    "otel": "spans for OpenTelemetry",
    "postgres": "conversations in PostgreSQL",
    "tokens": "exact token counts",
    "tui": "the screen that sapwood alone opens",
}


async def examine(
    given: Mapping[str, str],
    environ: Mapping[str, str] = os.environ,
    *,
    online: bool = True,
    tell: Tell | None = None,
) -> list[Finding]:
    """Looks at everything; `given` takes the place of configured values.

    `tell` is called with the number of events read so far, when that takes more than a second.
    """
    findings = [_versions()]
    try:
        config = structs.replace(load_config(environ), **given)
        keys = load_keys(environ)
    except ConfigError as error:
        then = '$EDITOR "$(sapwood config path)"'
        return [*findings, Finding("configuration", "broken", str(error), then)]
    findings += [_configuration(environ), *await _database(config, tell), *_keys(environ)]
    findings += await _model(config, keys, online=online)
    if online and config.servers:
        from sapwood.app.servers import examine_servers

        findings += await examine_servers(config.servers)
    findings += [await examine_checkpoints(config), *await examine_agents(environ)]
    return [*findings, *_extras(), _log_folder(config), *_telemetry(config, environ)]


def _versions() -> Finding:
    says = (
        f"{metadata.version('sapwood')} on Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}"
    )
    return Finding("sapwood", "ok", says)


def _configuration(environ: Mapping[str, str]) -> Finding:
    file = config_file(environ)
    if file.exists():
        return Finding("configuration", "ok", str(file))
    return Finding("configuration", "ok", f"{file} (not there: defaults hold)")


async def _database(config: Config, tell: Tell | None) -> list[Finding]:
    place, on_server = shown_address(config.address), is_postgres(config.address)
    try:
        if on_server:
            says = await _postgres(config.address)
        else:
            says = await asyncio.to_thread(_sqlite, config.address)
        found = [Finding("database", "ok", f"{place}: {says}")]
        if "schema" in says and "schema 0" not in says:  # the tables are there
            found.append(
                await examine_events(config.address, config.space, tell, postgres=on_server)
            )
        return found
    except LogError as error:
        return [_broken(config.address, f"{place}: {error}")]
    except (sqlite3.Error, OSError) as error:
        return [_broken(config.address, f"{place}: its events cannot be read ({error}).")]


def _broken(address: str, says: str) -> Finding:
    folder = Path(address).expanduser().parent
    if is_full(folder):
        return Finding("database", "broken", f"no space is left under {folder}", f"df {folder}")
    return Finding("database", "broken", says, "sapwood config set database …")


def _sqlite(address: str) -> str:
    from sapwood.store.sqlite.schema import APPLICATION, NEWEST

    if address == ":memory:":
        return "in memory, forgotten at the end of each command"
    path = Path(address).expanduser()
    if not path.exists():
        return _not_there_yet(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as file:
            (application,) = file.execute("PRAGMA application_id").fetchone()
            (schema,) = file.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION and schema:
                raise LogError("it is a database of another program.")
            agents = _count(file) if schema else 0
    except sqlite3.Error as error:
        raise LogError(f"it cannot be read ({error}).") from error
    if schema > NEWEST:
        raise LogError(f"its schema {schema} is newer than this Sapwood, which knows {NEWEST}.")
    if not os.access(path, os.W_OK):
        raise LogError("it cannot be written.")
    return f"schema {schema}, {agents:,} agent{'' if agents == 1 else 's'}"


def _count(file: sqlite3.Connection) -> int:
    (agents,) = file.execute("SELECT count(*) FROM agents").fetchone()
    return agents


def _not_there_yet(path: Path) -> str:
    folder = next(each for each in path.absolute().parents if each.exists())
    if not os.access(folder, os.W_OK):
        raise LogError(f"it is not there, and {folder} cannot be written.")
    return "not there yet; the first agent makes it"


async def _postgres(address: str) -> str:
    try:
        import asyncpg
    except ModuleNotFoundError:
        raise LogError("the driver is missing. Type: pip install 'sapwood[postgres]'") from None
    from sapwood.store.postgres.migrating import NEWEST

    try:
        session = await asyncpg.connect(address, timeout=_SECONDS)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError, ValueError) as no:
        raise LogError(f"it cannot be reached ({str(no) or type(no).__name__}).") from no
    try:
        server = session.get_server_version().major
        try:
            schema = await session.fetchval("SELECT max(number) FROM sapwood.migrations")
        except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
            return f"PostgreSQL {server}, empty; the first agent makes the tables"
        if schema > NEWEST:
            raise LogError(f"its schema {schema} is newer than this Sapwood, which knows {NEWEST}.")
        return f"PostgreSQL {server}, schema {schema}"
    finally:
        await session.close()


def _keys(environ: Mapping[str, str]) -> list[Finding]:
    origins = key_origins(environ)
    found = [Finding(f"key: {name}", "ok", f"from {where}") for name, where in origins.items()]
    missing = [name for name in PROVIDERS if name not in origins]
    if not origins:
        says = "no provider has one"
        return [Finding("keys", "open", says, "sapwood config key anthropic")]
    return [*found, *(Finding(f"key: {name}", "open", "none") for name in missing)]


async def _model(config: Config, keys: Mapping[str, str], *, online: bool) -> list[Finding]:
    if not config.model:
        then = "sapwood config set model claude-sonnet-5-5"
        return [Finding("model", "broken", "none is chosen", then)]
    try:
        require_model(config.model, config, keys)
    except Failure as failure:
        return [Finding("model", "broken", f"{config.model}: {failure}")]
    window = window_of(config.model)
    takes = f"takes {window:,} tokens" if window else "its window is not known"
    findings = [Finding("model", "ok", f"{config.model}, {takes}")]
    if online:
        findings.append(await _reach(resolve(config.model, config.base_urls).url))
    return findings


async def _reach(url: str) -> Finding:
    """Only a connection: nothing is sent, and no key."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    try:
        async with asyncio.timeout(_SECONDS):
            _, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure or None)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
    except (OSError, TimeoutError) as problem:
        why = str(problem) or "no answer"
        return Finding("network", "broken", f"{parts.netloc} cannot be reached: {why}")
    return Finding("network", "ok", f"{parts.netloc} can be reached")


def _extras() -> list[Finding]:
    """What `pip install 'sapwood[…]'` offers, and whether it is there."""
    wanted: dict[str, list[str]] = {}
    for line in metadata.requires("sapwood") or []:
        if (found := _EXTRA.match(line)) and found[1].lower() != "sapwood":
            wanted.setdefault(found[2], []).append(found[1])
    return [_extra(name, wanted[name]) for name in sorted(wanted) if name != "all"]


def _extra(name: str, packages: list[str]) -> Finding:
    use = _USES.get(name, "")
    told = f"for {use}" if use else "an extra"
    if all(map(_is_installed, packages)):
        return Finding(f"extra: {name}", "ok", told)
    return Finding(
        f"extra: {name}", "open", f"not installed; {told}", f"pip install 'sapwood[{name}]'"
    )


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _log_folder(config: Config) -> Finding:
    folder = config.log_folder
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    if os.access(existing, os.W_OK):
        return Finding("log file", "ok", str(folder / "sapwood.log"))
    return Finding("log file", "open", f"{folder} cannot be written; nothing is logged")


def _telemetry(config: Config, environ: Mapping[str, str]) -> list[Finding]:
    """Where spans go, if they go anywhere."""
    address = spans_go_to(config, environ)
    if not address:
        return []
    said = " with what was said" if config.telemetry.content else ""
    if not _is_installed("opentelemetry-sdk"):
        missing = f"for {address}, and cannot be sent: the extra is missing"
        return [Finding("spans", "broken", missing, "pip install 'sapwood[otel]'")]
    return [Finding("spans", "ok", f"sent to {address}{said}")]
