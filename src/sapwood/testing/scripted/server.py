"""The scripted model: a server in a thread of its own, on loopback only."""

import asyncio
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType

from sapwood.testing.scripted.journal import Journal, Logged, Rejection
from sapwood.testing.scripted.options import Options
from sapwood.testing.scripted.reply import Step
from sapwood.testing.scripted.script.player import Player, Playwright
from sapwood.testing.scripted.script.summary import SUMMARY
from sapwood.testing.scripted.serving import Service
from sapwood.testing.scripted.transport import Hearing, Outgoing, giving_up, read_incoming

__all__ = ["ScriptedModel"]

_HOST = "127.0.0.1"
_DUMMY_KEY = "sk-ant-scripted-dummy"
_BACKLOG = 1024
_HEAD_LIMIT = 1 << 20


class ScriptedModel:
    """A model that answers what its script says, in the formats of four providers.

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
        self._player = Player(summary, self.options.summary_words)
        self._journal = Journal(log, keep)
        self._service = Service(self.options, self._player, self._journal)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: threading.Thread | None = None
        self._port = 0

    # Starting and stopping

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
        """Begins to listen. It returns when requests can be sent."""
        if self._thread is not None:
            raise RuntimeError("the scripted model is running already")
        # All of the loop's life is in the thread: a test may have a loop of its own in this one.
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
        """Stops at once; what is being answered is cut off."""
        if self._thread is None or self._loop is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = self._loop = None
        self._service.close()

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
            loop.run_until_complete(self._shut(server))
            loop.close()

    async def _listen(self) -> asyncio.Server:
        loop = asyncio.get_running_loop()

        def connection() -> asyncio.StreamReaderProtocol:
            return asyncio.StreamReaderProtocol(Hearing(_HEAD_LIMIT), self._connected)

        return await loop.create_server(connection, _HOST, self.options.port, backlog=_BACKLOG)

    async def _shut(self, server: asyncio.Server) -> None:
        server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # lets the connections close

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            while (incoming := await read_incoming(reader, writer)) is not None:
                out = Outgoing(writer, keeps=incoming.keeps)
                with giving_up(reader, task):
                    await self._service.answer(incoming, out)
                if not out.keeps:
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client hung up, or the server stops
        finally:
            writer.close()

    # Where it is

    @property
    def url(self) -> str:
        """The address of the server."""
        return f"http://{_HOST}:{self._port}"

    @property
    def anthropic_url(self) -> str:
        """The base address for Anthropic's clients."""
        return self.url

    @property
    def openai_url(self) -> str:
        """The base address for OpenAI's clients, and for those of compatible servers."""
        return f"{self.url}/v1"

    @property
    def gemini_url(self) -> str:
        """The base address for Google's clients."""
        return self.url

    def env(self) -> dict[str, str]:
        """Variables that lead libraries and agents here, and keep real keys at home."""
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
        """A `config.toml` for Codex, which takes its provider from there. The key is in `env()`.

        It ends with tables: settings of your own go before it.
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

    # What it says

    def script(self, playwright: Playwright) -> Playwright:
        """Lets a function answer: it gets the request and returns a step, or `None` to pass.

        It runs in a thread of its own and may wait. Usable as a decorator.
        """
        self._player.playwright = playwright
        return playwright

    def replies(self, steps: Iterable[Step]) -> None:
        """Answers for the next requests, in order, whoever sends them."""
        self._player.enqueue(steps)

    # What it saw

    @property
    def requests(self) -> list[Logged]:
        """Every request so far, without secrets."""
        return self._journal.requests

    @property
    def rejections(self) -> list[Rejection]:
        """Every request so far that the provider would not have accepted."""
        return self._journal.rejections

    @property
    def peak(self) -> int:
        """The most requests that were being answered at once."""
        return self._journal.peak

    def wait_for(self, count: int, seconds: float = 10.0, *, answered: bool = False) -> None:
        """Waits until so many requests have come, or have been answered."""
        if not self._journal.wait(count, seconds, ended=answered):
            came = self._journal.count
            raise TimeoutError(f"{came} of {count} requests in {seconds:g} seconds")

    def clear(self) -> None:
        """Forgets requests, rejections, waiting replies, counted failures and caches."""
        self._journal.clear()
        self._player.forget()
        self._service.forget()
