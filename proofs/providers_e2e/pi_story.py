"""Sapwood as an extension in pi."""

from proofs.agents_e2e.pi import Pi
from proofs.providers_e2e.conversation import Conversation, until
from proofs.providers_e2e.sent_history import history_in, words

_RECAP = "Archived: "
"""In the recap after a compaction, which belongs to the turn after it."""


def installed(talk: Conversation) -> None:
    """Installed in it: an archive before a compaction, a recap after it, an undo typed inside"""
    home = talk.home
    with Pi(home) as pi:
        pi.call("get_state")  # it has written its own files then
    own = {name: value for name, value in home.snapshot(home.pi).items() if "/sessions" not in name}
    talk.sapwood("install", talk.program, "--yes")
    archives, changes = len(home.archives()), len(home.acts("changed"))
    with Pi(home) as pi:
        for number in (45, 46):
            pi.ask(f"TURN{number} [[say: ANSWER{number}]]")
        pi.call("compact")
        kept = len(home.archives())
        talk.checks.expect("it was archived before its compaction", kept > archives, kept)
        pi.ask("TURN47 [[say: ANSWER47]]")
        sent = str(history_in(talk.request("TURN47", last=False)))
        talk.checks.expect("the model got a recap", _RECAP in sent, sent[:900])
        session = pi.session
        pi.call("prompt", message="/sapwood:undo")
    told = "The session now has the history"
    until(lambda: told in str(home.acts("changed")[changes:]), "the session to be changed")
    inside = talk.other("inside", [])
    with Pi(home, resume=session) as pi:
        pi.ask(inside.probe())
    sent_then = history_in(inside.request(inside.path[-1], last=False))
    got = words([part for part in sent_then if _RECAP not in str(part)])
    wanted = [part for n in (45, 46, 47) for part in (f"TURN{n}", f"ANSWER{n}")]
    talk.checks.expect("the undo: all turns are back", got == [*wanted, inside.path[-1]], got)
    talk.sapwood("uninstall", talk.program, "--yes")
    left = {n: value for n, value in home.snapshot(home.pi).items() if "/sessions" not in n}
    talk.checks.expect("uninstalled: every file is as it was", left == own, set(left) ^ set(own))
