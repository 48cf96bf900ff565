"""The scripted model server. It runs in a thread of its own and listens on loopback only."""

import asyncio
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType

from scripted_model.http_connection import (
    DisconnectReader,
    HttpResponse,
    cancel_on_disconnect,
    read_http_request,
)
from scripted_model.reply import ReplyLike
from scripted_model.reply_selector import SUMMARY, ReplyFunction, ReplySelector
from scripted_model.request_handler import Options, RequestHandler
from scripted_model.request_log import LoggedRequest, Rejection, RequestLog

_HOST = "127.0.0.1"
_DUMMY_KEY = "sk-ant-scripted-dummy"
_BACKLOG = 1024
_HEAD_LIMIT = 1 << 20


class ScriptedModel:
    """A model server that replies what its script says, in the formats of four APIs.

    The README describes the parameters.

    >>> import urllib.request, json
    >>> with ScriptedModel() as server:
    ...     server.replies(["Good morning."])
    ...     body = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hello?"}]}
    ...     request = urllib.request.Request(
    ...         f"{server.openai_url}/chat/completions",
    ...         json.dumps(body).encode(),
    ...         {"content-type": "application/json"},
    ...     )
    ...     with urllib.request.urlopen(request) as response:
    ...         print(json.load(response)["choices"][0]["message"]["content"])
    ...     server.rejections
    Good morning.
    []
    """

    def __init__(
        self,
        *,
        port: int = 0,
        key: str | None = None,
        models: Iterable[str] | None = None,
        context_limit: int | Mapping[str, int] | None = None,
        validate: bool = True,
        allow: Mapping[str, Iterable[str]] | None = None,
        piece: int = 16,
        delay: float = 0.0,
        cache_minimum: int = 1024,
        retry_after: float = 1.0,
        summary: str = SUMMARY,
        summary_words: Iterable[str] = (),
        log: str | Path | None = None,
        keep: int | None = None,
    ) -> None:
        self.options = Options(
            port=port,
            key=key,
            models=None if models is None else tuple(models),
            context_limit=context_limit,
            validate=validate,
            allow={wire: tuple(names) for wire, names in (allow or {}).items()},
            piece=piece,
            delay=delay,
            cache_minimum=cache_minimum,
            retry_after=retry_after,
            summary=summary,
            summary_words=tuple(summary_words),
            log=log,
            keep=keep,
        )
        self._selector = ReplySelector(summary, self.options.summary_words)
        self._log = RequestLog(log, keep)
        self._handler = RequestHandler(self.options, self._selector, self._log)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._port = 0

    # Start and stop

    def __enter__(self) -> "ScriptedModel":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the server. Returns when it accepts requests.

        Raises:
            RuntimeError: The server is running already.
            OSError: The port is taken.
        """
        if self._thread is not None:
            raise RuntimeError("the scripted model is running already")
        # The event loop runs in the new thread only: the test may run a loop in this one.
        self._loop = asyncio.new_event_loop()
        ready: Future[int] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(self._loop, ready), name="scripted-model", daemon=True
        )
        self._thread.start()
        try:
            self._port = ready.result()
        except OSError:
            self._thread.join()
            self._thread = self._loop = None
            raise

    def stop(self) -> None:
        """Stops the server at once. Open connections are closed."""
        if self._thread is None or self._loop is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = self._loop = None
        self._handler.close()

    def _run(self, loop: asyncio.AbstractEventLoop, ready: Future[int]) -> None:
        asyncio.set_event_loop(loop)
        try:
            server = loop.run_until_complete(self._listen())
        except OSError as error:
            loop.close()
            ready.set_exception(error)
            return
        ready.set_result(server.sockets[0].getsockname()[1])
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(self._close(server))
            loop.close()

    async def _listen(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()

        def connection() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(
                DisconnectReader(_HEAD_LIMIT), self._serve_connection
            )

        return await loop.create_server(connection, _HOST, self.options.port, backlog=_BACKLOG)

    async def _close(self, server: asyncio.Server) -> None:
        server.close()
        await asyncio.sleep(0)  # a connection that has just come begins its task
        # All tasks: one that has not run yet is not in the list of its own.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # lets the connections close

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            while (http_request := await read_http_request(reader, writer)) is not None:
                response = HttpResponse(writer, keep_alive=http_request.keep_alive)
                with cancel_on_disconnect(reader, task):
                    await self._handler.handle(http_request, response)
                if not response.keep_alive:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client hung up, or the server stops
        finally:
            writer.close()

    # Addresses

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://{_HOST}:{self._port}"

    @property
    def anthropic_url(self) -> str:
        """The base URL for clients of Anthropic."""
        return self.url

    @property
    def openai_url(self) -> str:
        """The base URL for clients of OpenAI and of compatible servers."""
        return f"{self.url}/v1"

    @property
    def gemini_url(self) -> str:
        """The base URL for clients of Google."""
        return self.url

    def env(self) -> dict[str, str]:
        """Returns environment variables that point libraries and agents at this server.

        They also replace real API keys by a dummy key.
        """
        key = self.options.key or _DUMMY_KEY
        return {
            "ANTHROPIC_BASE_URL": self.anthropic_url,
            "ANTHROPIC_API_KEY": key,
            "OPENAI_BASE_URL": self.openai_url,
            "OPENAI_API_KEY": key,
            "GOOGLE_GEMINI_BASE_URL": self.gemini_url,
            "GEMINI_API_KEY": key,
            "GOOGLE_API_KEY": "",  # Google's library prefers it, and warns if both are set
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "NO_PROXY": _HOST,
            "no_proxy": _HOST,
        }

    def codex_config(self, model: str = "gpt-5-codex") -> str:
        """Returns a `config.toml` for Codex. The API key is in `env()`.

        The text ends with tables, so put your own settings before it.
        """
        return (
            f'model = "{model}"\n'
            'model_provider = "scripted"\n'
            "[model_providers.scripted]\n"
            'name = "scripted"\n'
            f'base_url = "{self.openai_url}"\n'
            'env_key = "OPENAI_API_KEY"\n'
            'wire_api = "responses"\n'
            "supports_websockets = false\n"
            "[analytics]\n"
            "enabled = false\n"  # offline, they cost every run five seconds
        )

    # Replies

    def script(self, function: ReplyFunction) -> ReplyFunction:
        """Sets a function that gets each request and returns a reply.

        If it returns `None`, the list of `replies` and then the prompt decide. The function runs
        in a thread of its own and may wait. Can be used as a decorator.
        """
        self._selector.function = function
        return function

    def replies(self, steps: Iterable[ReplyLike]) -> None:
        """Adds replies for the next requests, in order, for all clients."""
        self._selector.enqueue(steps)

    # Recorded requests

    @property
    def requests(self) -> list[LoggedRequest]:
        """Every request so far. API keys are hidden."""
        return self._log.requests

    @property
    def rejections(self) -> list[Rejection]:
        """Every request so far that the real API would have rejected."""
        return self._log.rejections

    @property
    def peak(self) -> int:
        """The largest number of requests that were open at the same time."""
        return self._log.peak

    def wait_for(self, count: int, seconds: float = 10.0, *, answered: bool = False) -> None:
        """Waits until `count` requests have arrived, or with `answered` have been answered.

        Raises:
            TimeoutError: Fewer requests arrived in that time.
        """
        if not self._log.wait(count, seconds, answered=answered):
            came = self._log.count
            raise TimeoutError(f"{came} of {count} requests in {seconds:g} seconds")

    def clear(self) -> None:
        """Deletes requests, rejections, replies in the list, counted failures and caches."""
        self._log.clear()
        self._selector.clear()
        self._handler.clear()
