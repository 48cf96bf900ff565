"""Compares the records with the given work, and counts the faults."""

from collections import Counter
from collections.abc import Callable, Iterable

from msgspec import Struct

from proofs.crash_runtime.evidence import Answer, Evidence, Turn, turns_of
from proofs.crash_runtime.model import answer_of
from proofs.crash_runtime.rounds import SCOUT, letters_in, tokens_in
from sapwood.core.events import MailRead, MailReceived, MailSent
from sapwood.core.ids import AgentId

_SHOWN = 12


class Findings(Struct):
    """What was checked, the number of faults, and a sentence on the first few faults."""

    turns: int = 0
    not_ended: int = 0
    tools: int = 0
    cut_off: int = 0
    run_again: int = 0
    answers: int = 0
    unanswered: int = 0
    asked_again: int = 0
    mails: int = 0
    lost: int = 0
    doubled: int = 0
    other: int = 0
    sentences: list[str] = []

    def note(self, kind: str, sentence: str) -> None:
        """Counts a fault."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.sentences) < _SHOWN:
            self.sentences.append(f"{kind}: {sentence}")

    @property
    def faults(self) -> int:
        """The total number of faults."""
        wrong = (self.not_ended, self.run_again, self.asked_again, self.lost, self.doubled)
        return sum(wrong) + self.other

    def __str__(self) -> str:
        summary = (
            f"{self.turns:,} turns, {self.not_ended} not ended; {self.tools:,} tool calls,"
            f" {self.cut_off} cut off, {self.run_again} run again; {self.answers:,} answers,"
            f" {self.unanswered} more calls cut off, {self.asked_again} asked for again;"
            f" {self.mails:,} mails, {self.lost} lost, {self.doubled} doubled"
        )
        return summary + (f"; {self.other} other faults" if self.other else "")


def check(evidence: Evidence) -> Findings:
    """Runs all checks."""
    findings = Findings(sentences=[])
    turns = {agent: turns_of(log) for agent, log in evidence.logs.items()}
    _check_team(evidence, findings)
    _check_rounds(evidence, turns, findings)
    for agent in turns:
        for turn in turns[agent]:
            _check_turn(evidence, turn, findings)
            for answer in turn.answers:
                _check_answer(evidence, answer, findings)
                _check_tools(evidence, answer, findings)
    _check_mail(evidence, turns, findings)
    return findings


def _check_team(evidence: Evidence, findings: Findings) -> None:
    if len(evidence.logs) != evidence.agents:
        findings.note("other", f"{len(evidence.logs)} agents and not {evidence.agents}")
    for label, count in Counter(evidence.labels.values()).items():
        if count > 1:
            findings.note("doubled", f"{label} was forked {count} times")


def _check_rounds(evidence: Evidence, turns: dict[AgentId, list[Turn]], findings: Findings) -> None:
    """Every given round was started exactly once."""
    begun = Counter(turn.round for each in turns.values() for turn in each)
    for round_ in evidence.given:
        if begun[round_] != 1:
            findings.note("other", f"{round_} was begun {begun[round_]} times")


def _check_turn(evidence: Evidence, turn: Turn, findings: Findings) -> None:
    findings.turns += 1
    if turn.end != "turn.completed" or turn.round is None:
        findings.note("not_ended", f"{turn.round}: {turn.end or 'open'}")
        return
    steps = len(turn.round.steps(""))
    if len(turn.answers) != steps:
        findings.note("other", f"{turn.round} has {len(turn.answers)} answers and not {steps}")


def _check_answer(evidence: Evidence, answer: Answer, findings: Findings) -> None:
    findings.answers += 1
    asked = evidence.requests.get(answer.key, [])
    known = {answer_of(answer.key, number) for number in range(1, len(asked) + 1)}
    findings.unanswered += len(asked) - 1
    if answer.text not in known:
        findings.note("other", f"{answer.key}: the model was never asked for '{answer.text}'")
    if any(at > answer.at for at in asked):
        findings.note("asked_again", f"{answer.key} was asked for after it was stored")


def _check_tools(evidence: Evidence, answer: Answer, findings: Findings) -> None:
    for call in answer.calls:
        findings.tools += 1
        result = answer.results.get(call.id)
        if result is None:
            continue  # its turn has not ended, which is noted there
        match call.name:
            case "shell":
                (token,) = tokens_in([call.args])
                _check_effect(evidence.ledger[token], token, result.error, findings)
            case "search_files":
                (token,) = tokens_in([call.args])
                if result.error:
                    findings.note("other", f"searching for {token} failed: {result.content}")
                if any(at > result.at for at in evidence.searches.get(token, [])):
                    findings.note("run_again", f"{token} was searched for after it was found")
            case _:
                if result.error:
                    findings.note("other", f"{answer.key}: {call.args} failed: {result.content}")


def _check_effect(effects: int, token: str, is_unknown: bool, findings: Findings) -> None:
    findings.cut_off += is_unknown
    if effects > 1:
        findings.note("run_again", f"{token} is {effects} times in the ledger")
    if effects == 0 and not is_unknown:
        findings.note("other", f"{token} finished and is not in the ledger")


def _check_mail(evidence: Evidence, turns: dict[AgentId, list[Turn]], findings: Findings) -> None:
    sent = _count(evidence, MailSent, lambda event: event.text)
    received = _count(evidence, MailReceived, lambda event: event.text)
    asked = Counter(
        tokens_in(
            call.args
            for each in turns.values()
            for turn in each
            for answer in turn.answers
            for call in answer.calls
            if call.name == "slash" and call.id in answer.results and "send" in call.args
        )
    )
    asked.update(_reports(turns))
    findings.mails = len(asked)
    for token in asked | sent | received:
        if not (sent[token] == received[token] == asked[token] == 1):
            kind = "doubled" if max(sent[token], received[token]) > 1 else "lost"
            findings.note(kind, f"{token} sent {sent[token]}, received {received[token]} times")
    for agent, log in evidence.logs.items():
        _check_reading(agent, evidence, turns[agent], findings, [each.event for each in log])


def _reports(turns: dict[AgentId, list[Turn]]) -> list[str]:
    """The reports that are due: a scout's answer to its goal, which is its first round."""
    goals = [each[0] for each in turns.values() if each]
    return [
        str(turn.answers[-1].key)
        for turn in goals
        if turn.round and turn.round.label.startswith(SCOUT) and turn.end == "turn.completed"
    ]


def _check_reading(
    agent: AgentId,
    evidence: Evidence,
    turns: list[Turn],
    findings: Findings,
    events: Iterable[object],
) -> None:
    """Mail that was read reached the model once; all other received mail is unread."""
    letters: dict[str, str] = {}
    read: Counter[str] = Counter()
    for event in events:
        if isinstance(event, MailReceived):
            letters[event.mail] = event.text
        elif isinstance(event, MailRead):
            read.update(event.mails)
    shown = Counter(
        letters_in(
            result.content
            for turn in turns
            for answer in turn.answers
            for call in answer.calls
            if "check-mail" in call.args and (result := answer.results.get(call.id))
        )
    )
    label = evidence.labels[agent]
    for mail, text in letters.items():
        (token,) = letters_in([text])
        if not read[mail] == shown[token] <= 1:
            kind = "doubled" if max(read[mail], shown[token]) > 1 else "lost"
            findings.note(
                kind, f"{token} was read {read[mail]} and shown {shown[token]} times to {label}"
            )


def _count(
    evidence: Evidence,
    kind: type[MailSent] | type[MailReceived],
    text: Callable[[MailSent | MailReceived], str],
) -> Counter[str]:
    events = (recorded.event for log in evidence.logs.values() for recorded in log)
    return Counter(letters_in(text(event) for event in events if isinstance(event, kind)))
