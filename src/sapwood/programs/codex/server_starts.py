"""Starts app servers, and opens threads in them. A spare server may wait for a thread."""

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path

from sapwood.core.model_calls import Failure
from sapwood.core.program_session import ProgramSession
from sapwood.programs.agent_provider import ProviderOptions
from sapwood.programs.codex.app_server import AppServer, CodexEnded, CodexRefused
from sapwood.programs.codex.history_change import ForkSource
from sapwood.programs.codex.live_thread import LiveThread
from sapwood.programs.codex.permissions import permission_params
from sapwood.programs.codex.thread_at_rest import is_open
from sapwood.programs.probe.proved_program import ProvedProgram

_RELEASE_SECONDS = 8.0
_POLL_SECONDS = 0.1


def open_elsewhere(thread: str) -> str:
    """The message about a thread that another process has open."""
    return (
        f"Session {thread} is open in another Codex. Close it there with /quit. If you do not see "
        "it anywhere, Codex's background server still has it; type: codex app-server daemon stop. "
        "Then try again."
    )


class ServerStarts:
    """Starts servers in an environment. `home` is the folder of Codex."""

    def __init__(self, installed: ProvedProgram, environ: Mapping[str, str], home: Path) -> None:
        self._installed = installed
        self._environ = environ
        self._home = home
        self._spares: dict[str, asyncio.Task[AppServer]] = {}

    async def start(self, options: ProviderOptions) -> AppServer:
        """Starts a server. Raises `Failure`."""
        info = await asyncio.to_thread(self._installed.require)
        if info.logged_in is False:
            raise Failure("no_key", "You are not logged in to Codex. Run `codex login`.")
        environ = {**self._environ, **options.environment}
        try:
            return await AppServer.start(info.path, options.folder, environ)
        except (OSError, CodexEnded, CodexRefused) as error:
            raise Failure("other", f"Codex {info.version} did not start: {error}") from error

    async def open(
        self,
        server: AppServer,
        options: ProviderOptions,
        session: ProgramSession | None = None,
        fork: ForkSource | None = None,
    ) -> LiveThread:
        """Opens a thread of the user, a fork of one, or a new one. Raises `Failure`."""
        try:
            opened = await self._opened(server, options, session, fork)
        except (CodexEnded, CodexRefused) as error:
            await server.kill()
            message = f"Codex could not open the session: {error}"
            raise Failure("other", message, again=isinstance(error, CodexEnded)) from error
        except BaseException:
            await server.kill()
            raise
        return LiveThread(server, self._home, opened, options)

    async def _opened(
        self,
        server: AppServer,
        options: ProviderOptions,
        session: ProgramSession | None,
        fork: ForkSource | None,
    ) -> dict[str, object]:
        permissions = permission_params(options.mode)
        params: dict[str, object] = {
            "cwd": options.folder,
            "approvalPolicy": permissions.approval,
            "sandbox": permissions.sandbox,
        }
        if options.model:
            params["model"] = options.model
        if options.system:
            params["developerInstructions"] = options.system
        if fork is not None:
            last = {"threadId": fork.thread, "lastTurnId": fork.turn, "excludeTurns": True}
            return await server.call("thread/fork", **last, **params)
        if session is None:
            return await server.call("thread/start", **params)
        await self._wait_for_release(session.id)
        return await server.call("thread/resume", threadId=session.id, excludeTurns=True, **params)

    async def _wait_for_release(self, thread: str) -> None:
        """A server whose client was killed holds its thread for some more seconds."""
        for _ in range(round(_RELEASE_SECONDS / _POLL_SECONDS)):
            if not is_open(self._home, thread):
                return
            await asyncio.sleep(_POLL_SECONDS)
        raise Failure("other", open_elsewhere(thread), again=True)

    # Spare servers

    def prepare(self, thread: str, options: ProviderOptions) -> None:
        """Starts a server in the background, for the next time that a thread needs another one."""
        if thread not in self._spares:
            self._spares[thread] = asyncio.create_task(self.start(options))

    async def take(self, thread: str, options: ProviderOptions) -> AppServer:
        """The spare server of a thread if it runs, else a new one. Raises `Failure`."""
        if (waiting := self._spares.pop(thread, None)) is not None:
            with contextlib.suppress(Failure):
                server = await waiting
                if server.is_running:
                    return server
        return await self.start(options)

    async def drop_all(self) -> None:
        """Ends all spare servers."""
        await asyncio.gather(*(self.drop(each) for each in list(self._spares)))

    async def drop(self, thread: str) -> None:
        """Ends the spare server of a thread."""
        if (waiting := self._spares.pop(thread, None)) is not None:
            with contextlib.suppress(Failure):
                await (await waiting).kill()
