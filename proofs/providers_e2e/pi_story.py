"""A compaction of pi itself, taken back by Sapwood: checked by the next request."""

from proofs.agents_e2e.pi import Pi
from proofs.providers_e2e.conversation import Conversation, turn


def own_compaction(talk: Conversation) -> None:
    """Its own compaction, undone at rest: what came later stays"""
    names = [f"TURN{number}" for number in range(91, 95)]
    first, second, third, fourth = (turn(talk.program, name) for name in names)
    with Pi(talk.home) as pi:
        pi.ask(first)
        pi.ask(second)
        pi.ask(third)
        pi.call("compact")
        pi.ask(fourth)
        session = pi.session
    beside = talk.other("compacted", names)
    beside.expect_files("its own compaction")
    told = talk.sapwood("undo", "--session", session)
    talk.checks.expect("it says what was undone", "Undone: /compact." in told, told)
    with Pi(talk.home, resume=session) as pi:
        pi.ask(beside.probe())
    beside.expect_request("all turns are back", beside.path)
    beside.expect_files("the undo")
