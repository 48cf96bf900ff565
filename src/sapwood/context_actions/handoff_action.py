"""The action `handoff`: writes a package for another agent."""

from pathlib import Path

from sapwood.analysis.handoff import Handoff, handoff_of, render_handoff
from sapwood.config.folders import handoffs_folder
from sapwood.context_actions.context_answers import WrittenHandoff
from sapwood.context_actions.context_request import ContextRequest
from sapwood.context_actions.session_input import SessionInput
from sapwood.core.errors import SapwoodError
from sapwood.journal import add_to_journal, now
from sapwood.private_files import slug, write_new_file

_MAX_FILE_SIZE = 4_000_000


def hand_off(request: ContextRequest, source: SessionInput) -> WrittenHandoff:
    """Writes a package for another agent; of a session that is not kept, only returns it."""
    session = source.session
    target = " ".join(request.target_agent.split())[:60]
    if not target:
        raise SapwoodError(
            "Name the agent to hand off to, for example: sapwood context handoff reviewer"
        )
    if not session.turns:
        raise SapwoodError("There is nothing to hand off: the session has no turns yet.")
    handoff = handoff_of(
        session,
        target,
        at=now(),
        task=request.task,
        topic=next(iter(source.said.goals), ""),
        ledger=source.ledger(),
        count=lambda path: count_lines(Path(session.folder), path) if session.folder else None,
    )
    text = render_handoff(handoff)
    if not source.kept:
        return WrittenHandoff(handoff, text)
    path = str(write_handoff(handoffs_folder(), handoff))
    message = f"Context handoff prepared for: {target}"
    about = {"source": session.source, "session": session.id, "folder": session.folder}
    add_to_journal("handed off", message, path=path, **about)
    return WrittenHandoff(handoff, text, path)


def write_handoff(folder: Path, handoff: Handoff) -> Path:
    """Writes the package to a new file, named after the day and the agent. Returns its path."""
    stem = "-".join(filter(None, (slug(handoff.made[:10]), "to", slug(handoff.target))))
    return write_new_file(folder, stem, render_handoff(handoff))


def count_lines(project: Path, path: str) -> int | None:
    """Returns the number of lines of a text file inside a project, or None."""
    try:
        root = project.resolve()
        file = (root / path).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            return None
        if file.stat().st_size > _MAX_FILE_SIZE:
            return None
        content = file.read_bytes()
    except (OSError, ValueError):
        return None
    return None if b"\0" in content[:8_000] else len(content.splitlines())
