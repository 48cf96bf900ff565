"""An installed program, and whether its sessions can be changed in place: what providers ask."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import structs

from sapwood.programs.agent_provider import ProgramInfo
from sapwood.programs.installed_programs import require_found
from sapwood.programs.probe.proofs import Executable, Proof, Proofs, not_proved
from sapwood.programs.program import Program


class ProvedProgram:
    """Finds a program, and probes it when its sessions are to be changed for the first time.

    `under_test` is set by the probe itself: this program is used as it is.
    """

    def __init__(
        self,
        program: Program,
        data: Path | None,
        find_path: Callable[[], str | None],
        environ: Callable[[], Mapping[str, str]],
        is_logged_in: Callable[[Mapping[str, str]], bool | None],
        under_test: ProgramInfo | None = None,
    ) -> None:
        self._program = program
        self._data = data
        self._find_path = find_path
        self._environ = environ
        self._is_logged_in = is_logged_in
        self._under_test = under_test
        self._stop = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def find(self) -> ProgramInfo | None:
        """The installed program, with what is known of it; None if there is none."""
        if self._under_test is not None:
            return self._under_test
        found = self._executable()
        if found is None:
            return None
        return self._info(found, self._proofs.find(found))

    def require(self) -> ProgramInfo:
        """The installed program. Raises `Failure` with what to type if there is none."""
        return require_found(self._program, self.find())

    def prove(self, *, again: bool = False) -> ProgramInfo | None:
        """The installed program, which is probed unless it was; None if there is none.

        Takes up to some seconds, so call it in a thread.
        """
        info = self.find()
        executable = None if self._under_test else self._executable()
        if executable is None or (info and info.in_place is not None and not again):
            return info
        try:
            proof = self._proofs.prove(
                self._program.name, executable, self._environ(), again=again, stop=self._stop
            )
        except OSError as error:
            reason = f"nothing could be stored ({error.strerror})"
            proof = Proof(self._program.name, executable.version, False, 0.0, reason=reason)
        return self._info(executable, proof)

    def prove_in_background(self) -> None:
        """Starts a probe if one is needed, and returns at once. `stop` ends it."""
        if self._task is None:
            self._task = asyncio.create_task(self._prove_quietly())

    async def stop(self) -> None:
        """Ends a probe that runs in the background; its result is not kept."""
        if self._task is not None:
            self._stop.set()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
            self._stop.clear()

    async def _prove_quietly(self) -> None:
        await asyncio.to_thread(self.prove)

    @property
    def _proofs(self) -> Proofs:
        return Proofs(self._data)

    def _executable(self) -> Executable | None:
        path = self._find_path()
        found = self._proofs.executable(path, self._environ()) if path else None
        return found if found and found.version else None

    def _info(self, executable: Executable, proof: Proof | None) -> ProgramInfo:
        logged_in = self._is_logged_in(self._environ())
        path, version = executable.path, executable.version
        info = ProgramInfo(self._program.name, path, version, None, logged_in)
        if proof is None:
            return info
        reason = "" if proof.proved else not_proved(self._program.title, version, proof.reason)
        return structs.replace(info, in_place=proof.proved, reason=reason, tested=proof.at)
