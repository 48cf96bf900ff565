"""The connection to a Temporal server, and its errors as those of an engine.

The address, the namespace, TLS and the API key come from Sapwood's configuration, and what is not
configured there from Temporal's own: the variables TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE,
TEMPORAL_API_KEY and TEMPORAL_TLS_…, and the profiles of its file temporal.toml.

Keeps Temporal's client from writing to the terminal.

Its records go the usual way of Python logging. Records are dropped when they report as trouble what
is normal here: drives that failed or were cancelled, which the engine logs itself, and calls that
are repeated while the server is away, which `TemporalEngine` logs once.
"""

import asyncio
import atexit
import logging
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfigProfile, ClientConfigTLS
from temporalio.runtime import (
    LogForwardingConfig,
    LoggingConfig,
    Runtime,
    TelemetryConfig,
    TelemetryFilter,
)
from temporalio.service import RPCError, RPCStatusCode

from sapwood.config.config_file import TemporalConfig
from sapwood.engine.drives import EngineError

_DEFAULT_ADDRESS = "localhost:7233"
_CONNECT_TIMEOUT = timedelta(seconds=10)
_LOOK_SECONDS = 5.0
_LAST_MOMENT = 0.1
_log = logging.getLogger("sapwood.engine")
_core_log = logging.getLogger("sapwood.engine.temporal")


class TemporalServer:
    """Where the server is, and how to connect. Raises `EngineError` if a setting is wrong."""

    def __init__(self, config: TemporalConfig) -> None:
        self.task_queue = config.task_queue
        try:
            profile = ClientConfigProfile.load(profile=config.profile or None)
        except RuntimeError as problem:
            raise EngineError(f"The Temporal settings are not valid: {problem}.") from problem
        self.address = config.address or profile.address or _DEFAULT_ADDRESS
        self.namespace = config.namespace or profile.namespace or "default"
        self._profile = profile
        self._tls = _tls(config) or profile.tls

    async def connect(self) -> Client:
        """Connects. Raises `EngineError` if the server does not answer or refuses."""
        with engine_errors(self):
            api_key, tls = self._profile.api_key, self._tls
            return await Client.connect(
                self.address,
                namespace=self.namespace,
                api_key=api_key,
                tls=tls.to_connect_tls_config() if tls else bool(api_key),
                rpc_metadata=self._profile.grpc_meta,
                connect_timeout=_CONNECT_TIMEOUT,
                runtime=_runtime(),
            )

    async def require_namespace(self, client: Client) -> None:
        """Raises `EngineError` if the namespace does not exist or may not be used."""
        with engine_errors(self):
            await client.workflow_service.describe_namespace(
                DescribeNamespaceRequest(namespace=self.namespace), timeout=_CONNECT_TIMEOUT
            )

    async def workers(self, client: Client) -> int:
        """How many workers take drives from the task queue at this moment."""
        request = DescribeTaskQueueRequest(
            namespace=self.namespace,
            task_queue=TaskQueue(name=self.task_queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
        with engine_errors(self):
            found = await client.workflow_service.describe_task_queue(
                request, timeout=_CONNECT_TIMEOUT
            )
        return len({poller.identity for poller in found.pollers})

    async def watch(self, client: Client) -> None:
        """Logs when the server stops answering and when it is back, until this is cancelled."""
        away = False
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            try:
                answers = await client.service_client.check_health(timeout=_CONNECT_TIMEOUT)
            except RPCError as problem:
                answers = problem.status is RPCStatusCode.UNIMPLEMENTED
            if answers == away:
                away = not answers
                state = (
                    "is not responding. Work in progress resumes when it does"
                    if away
                    else "is back"
                )
                _log.warning("The Temporal server at %s %s.", self.address, state)


@contextmanager
def engine_errors(server: TemporalServer) -> Generator[None]:
    """Turns the errors of Temporal's client inside the block into `EngineError`."""
    try:
        yield
    except RPCError as problem:
        raise EngineError(_sentence(server, problem)) from problem
    except RuntimeError as problem:  # of `Client.connect`
        raise EngineError(
            f"The Temporal server at {server.address} does not answer: {problem}. "
            "Start it, or set temporal.address in the configuration."
        ) from problem
    except OSError as problem:
        raise EngineError(f"A TLS file for Temporal cannot be read: {problem}.") from problem


def _sentence(server: TemporalServer, problem: RPCError) -> str:
    where = f"The Temporal server at {server.address}"
    match problem.status:
        case RPCStatusCode.NOT_FOUND:
            return (
                f"{where} has no namespace '{server.namespace}'. To create it, type: "
                f"temporal operator namespace create -n {server.namespace}"
            )
        case RPCStatusCode.UNAUTHENTICATED | RPCStatusCode.PERMISSION_DENIED:
            return f"{where} refused the API key or certificate: {problem.message}."
        case RPCStatusCode.UNAVAILABLE | RPCStatusCode.DEADLINE_EXCEEDED | RPCStatusCode.CANCELLED:
            return f"{where} does not answer: {problem.message}."
        case _:
            return f"{where} refused: {problem.message}."


def _tls(config: TemporalConfig) -> ClientConfigTLS | None:
    """TLS as Sapwood's configuration has it; None if it says nothing."""

    def file(name: str) -> Path | None:
        return Path(name).expanduser() if name else None

    files = (config.server_ca, config.client_cert, config.client_key, config.server_name)
    if config.tls == "auto" and not any(files):
        return None
    return ClientConfigTLS(
        disabled=config.tls == "off",
        server_name=config.server_name or None,
        server_root_ca_cert=file(config.server_ca),
        client_cert=file(config.client_cert),
        client_private_key=file(config.client_key),
    )


@cache
def _runtime() -> Runtime:
    """One for the process. Its log goes the way of Python's logging, not to the terminal.

    Its threads must not call Python while the interpreter ends, else the process aborts (a known
    fault, sdk-python issue 300). So they get a moment to finish before.
    """
    quiet_temporal_logging(_core_log)
    atexit.register(threading.Event().wait, _LAST_MOMENT)  # a sleep fails if clocks are stepped
    return Runtime(
        telemetry=TelemetryConfig(
            logging=LoggingConfig(
                filter=TelemetryFilter(core_level="WARN", other_level="ERROR"),
                forwarding=LogForwardingConfig(logger=_core_log),
            )
        )
    )


_EXPECTED = (
    "Completing activity as failed",
    "Completing as failure",
    "Completing as cancelled",
    "retried",
    "Network error while",
    "Activity not found on completion",
    "Task not found when completing",
    "UnhandledCommand",
)
_LOGGERS = ("temporalio.activity", "temporalio.worker", "temporalio.workflow")


def quiet_temporal_logging(core: logging.Logger) -> None:
    """Adds a filter to the loggers of the library and to `core`, which gets the log of its core."""
    for logger in (core, *map(logging.getLogger, _LOGGERS)):
        if _is_unexpected not in logger.filters:
            logger.addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    return not any(expected in message for expected in _EXPECTED)
