"""From a configuration to agents that run: the parts chosen and put together.

What is heavy is imported here and only when it is needed.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from sapwood.app.checkpointing import checkpoints_for
from sapwood.app.config import Config
from sapwood.app.connection import Connection
from sapwood.app.opening import is_postgres
from sapwood.app.outages import Outages
from sapwood.app.running import Running
from sapwood.app.tracing import tracing_for
from sapwood.core.ids import AgentId
from sapwood.engine import EngineError, Limits, LocalEngine
from sapwood.models import Models
from sapwood.runtime.engine import Engine
from sapwood.runtime.toolbox import Toolbox

if TYPE_CHECKING:
    from sapwood.workspace.permissions.asking import Approve, Grants

__all__ = ["assemble", "engine_for", "local_engine", "require_durable_engine"]

_NO_ENGINE = (
    "Durable turns need a package that is not installed. Type: pip install 'sapwood[engine]'"
)


def assemble(
    connection: Connection,
    config: Config,
    keys: Mapping[str, str],
    *,
    allow: Sequence[str] = (),
    root: AgentId | None = None,
    engine: Engine | None = None,
    approve: "Approve | None" = None,
) -> Running:
    """Agents of this space, ready to start.

    `allow` are rules such as `shell(git *)`, which hold for the agent `root` and its descendants:
    a process may be handed the work of others too. They overrule no configured 'deny'. `engine`
    takes the place of the configured one. `approve` asks a person what the rules do not settle;
    without it that is denied.
    """
    models = Models(keys, urls=config.base_urls)
    grants = _grants(connection, allow, root)
    toolbox = _toolbox(config, grants, approve, tuple(keys.values()))
    return Running(
        connection,
        engine or engine_for(config, connection.outages),
        models,
        toolbox,
        keys,
        closing=[models.aclose],
        tracing=tracing_for(config),
        checkpoints=checkpoints_for(connection, config),
    )


def engine_for(config: Config, outages: Outages | None = None) -> Engine:
    """The durable engine where it is installed, else one that lives and dies with this process."""
    limits = Limits(per_worker=config.workers)
    if config.address == ":memory:":
        return LocalEngine(limits)
    if find_spec("dbos") is not None:
        from sapwood.engine.dbos import DbosEngine

        return DbosEngine(config.address, limits, tell=outages.hear if outages else None)
    if is_postgres(config.address):
        # Others may be running the same agents: only a shared engine keeps them apart.
        raise EngineError(_NO_ENGINE)
    return LocalEngine(limits)


def local_engine() -> Engine:
    """An engine that lives and dies with this process."""
    return LocalEngine()


def require_durable_engine() -> None:
    """Raises `EngineError` when the extra is missing that lets processes share agents."""
    if find_spec("dbos") is None:
        raise EngineError(_NO_ENGINE)


def _grants(connection: Connection, allow: Sequence[str], root: AgentId | None) -> "Grants | None":
    if not allow or root is None:
        return None
    from sapwood.app.scoping import granted_to_kin
    from sapwood.workspace.permissions.rules import parse_rules

    rules = parse_rules(f"allow {rule}" for rule in allow)
    return granted_to_kin(connection.log, connection.space, root, rules)


def _toolbox(
    config: Config, grants: "Grants | None", approve: "Approve | None", secrets: Sequence[str]
) -> Toolbox:
    from sapwood.workspace.permissions.rules import parse_rules
    from sapwood.workspace.toolbox import WorkspaceToolbox

    rules = parse_rules(config.permissions)
    box = WorkspaceToolbox(rules, approve, grants=grants, secrets=secrets)
    if not config.servers:
        return box
    from sapwood.app.servers import server_toolboxes
    from sapwood.workspace.toolboxes import Toolboxes

    return Toolboxes(box, *server_toolboxes(config.servers, rules, grants, approve))
