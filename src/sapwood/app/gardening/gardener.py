"""Runs errands: finds the session that is meant, does what is asked, and answers with a value."""

from pathlib import Path

from sapwood.app.config import Config
from sapwood.app.folders import focus_file
from sapwood.app.gardening.errand import Errand
from sapwood.app.gardening.sessions import Sessions
from sapwood.core.ledger import Ledger, ledger_of
from sapwood.core.session import Session
from sapwood.garden import Drift, drift_of
from sapwood.garden.focus import Focus, names_in_focus, of_project, read_focus
from sapwood.tokens import counter_for

__all__ = ["Answer", "Gardener"]

Answer = Ledger | Drift


class Gardener:
    """Does errands for whoever works in a folder."""

    def __init__(self, folder: Path, config: Config) -> None:
        self._sessions = Sessions(folder, config)

    async def do(self, errand: Errand) -> Answer:
        """Does an errand. Raises `NoSession` where it needs a session and there is none."""
        session = await self._sessions.get(errand.session, errand.transcript)
        match errand.action:
            case "ledger":
                return ledger_of(session)
            case _:
                counter = counter_for(session.model)
                focus = names_in_focus(self._focus(session))
                return drift_of(session, counter, focus)

    def _focus(self, session: Session) -> Focus:
        return of_project(read_focus(focus_file()), session.folder)
