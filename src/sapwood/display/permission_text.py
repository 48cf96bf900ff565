"""What a person reads when a tool needs permission: who wants what, and all that would be done."""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from sapwood.display.diff_lines import diff_lines
from sapwood.display.text import visible, visible_parts, width_of
from sapwood.workspace.permissions.permission_gate import (
    AllowAlways,
    AllowOnce,
    Deny,
    PermissionAnswer,
    PermissionQuestion,
    Reply,
)
from sapwood.workspace.permissions.permission_rules import PermissionRules

_SHORT_RULE = 24
"""Characters of a rule that stand beside its answer at 60 columns; a longer one is a line above."""

_ACTS = {
    "read_file": "read",
    "list_files": "list",
    "search_files": "search",
    "write_file": "write",
    "edit_file": "edit",
}
_OFFERS = {
    "once": ("y", "Allow once"),
    "exact": ("a", "Always in this project"),
    "prefix": ("p", "Always in this project"),
}
"""The key and the words of each way to say yes."""
LineKind = Literal["text", "label", "sentence", "added", "removed", "place"]


class ApprovalLine(Struct, frozen=True):
    """One line of what would be done, exactly as it is, and what kind of line it is."""

    text: str
    kind: LineKind = "text"


class AnswerChoice(Struct, frozen=True):
    """One answer that a person can give: its key, its words, and the rules that it adds.

    `answer` is None if the person writes a text first, which `hint` asks for: a reason, or the
    answer to a question of the model. `grants` says what it allows from then on.
    """

    key: str
    label: str
    answer: PermissionAnswer | None
    rules: PermissionRules = ()
    grants: str = ""
    hint: str = ""
    replies: bool = False

    def given(self, text: str) -> PermissionAnswer:
        """The answer, with the text that the person wrote if it needs one."""
        return self.answer or (Reply(text) if self.replies and text else Deny(text))

    @property
    def rule_lines(self) -> list[str]:
        """The rules as they are written, with every character visible."""
        return [visible(str(rule)) for rule in self.rules]

    @property
    def has_short_rule(self) -> bool:
        """Whether its one rule fits beside its words."""
        lines = self.rule_lines
        return len(lines) == 1 and len(lines[0]) <= _SHORT_RULE and "\n" not in lines[0]

    @property
    def words(self) -> str:
        """The words of the answer, with its rule or a hint to the lines that show the rules."""
        if not self.rules:
            return self.label
        return f"{self.label}: {self.rule_lines[0] if self.has_short_rule else 'as shown above'}"

    @property
    def allows(self) -> bool:
        """Whether the answer lets the tool run, or answers the model's question."""
        return isinstance(self.answer, AllowOnce | AllowAlways | Reply)


def answer_choices(question: PermissionQuestion) -> list[AnswerChoice]:
    """The answers to a question, in the order in which they are listed."""
    if question.choices:
        picks = enumerate(question.choices, 1)
        return [
            *(AnswerChoice(str(key), visible(text), Reply(text)) for key, text in picks),
            AnswerChoice("t", "Write an answer", None, hint="Your answer", replies=True),
            AnswerChoice("n", "Do not answer", Deny()),
        ]
    choices = [
        AnswerChoice(*_OFFERS[offer.kind], offer.answer, offer.rules, offer.grants)
        for offer in question.offers
    ]
    if not question.offers:
        choices.append(AnswerChoice(*_OFFERS["once"], AllowOnce()))
        if question.always:
            choices.append(AnswerChoice(*_OFFERS["exact"], AllowAlways(), question.always))
    return [
        *choices,
        AnswerChoice("n", "Deny", Deny()),
        AnswerChoice("t", "Deny with a reason", None, hint="Why not, or what to do instead"),
    ]


def request_sentence(question: PermissionQuestion, agent_name: str = "") -> str:
    """Says what the model wants to do; `agent_name` names another agent than the shown one.

    >>> from sapwood.core.ids import AgentId
    >>> asked = PermissionQuestion(AgentId("a"), "/w", "edit_file", "invoice.py", "")
    >>> request_sentence(asked)
    'The model wants to edit invoice.py'
    """
    who = f"The model of '{agent_name}'" if agent_name else "The model"
    if question.choices:
        return f"{who} asks you"
    if question.tool == "shell":
        return f"{who} wants to run a command"
    if question.tool == "web_fetch":
        return f"{who} wants to read a web page"
    if act := _ACTS.get(question.tool):
        return f"{who} wants to {act} {question.subject}"
    return f"{who} wants to use the tool {question.tool}"


def approval_lines(question: PermissionQuestion) -> list[ApprovalLine]:
    """All that would be done, line by line: the folder, the command or path, the change."""
    if question.choices:
        return [ApprovalLine(line, "sentence") for line in question.subject.split("\n")]
    lines: list[ApprovalLine] = []
    if question.folder:
        lines.append(ApprovalLine(f"in the folder {question.folder}", "label"))
    is_file = question.tool in _ACTS
    if question.preview != question.subject:
        if question.subject and not is_file:
            lines += _plain_lines(question.subject)
        lines += _change(question.preview) if is_file else ()
        lines += () if is_file else _plain_lines(question.preview)
    else:
        lines += _plain_lines(question.subject)
    for choice in answer_choices(question):
        if choice.rules:
            grants = choice.grants or f"From now on in {question.workspace}."
            lines.append(ApprovalLine(f"{choice.key} allows: {grants}", "label"))
        if choice.rules and not choice.has_short_rule:
            lines += [ApprovalLine(line) for rule in choice.rules for line in str(rule).split("\n")]
    return lines


def wrapped_rows(
    line: ApprovalLine, room: int, width: Callable[[str], int] = width_of
) -> list[list[tuple[str, bool]]]:
    """Divides a line into rows of at most `room` columns; `width` measures a character.

    Each row has pieces with whether they stand for invisible characters. What would be done is
    divided at exactly the width, so that no blank is lost. A label is Sapwood's own sentence: it
    and a question of the model are divided between words.

    >>> [row[0][0] for row in wrapped_rows(ApprovalLine("a allows: From now on.", "label"), 13)]
    ['a allows: ', 'From now on.']
    """
    pieces = visible_parts(line.text.expandtabs(4))
    text = "".join(piece for piece, _ in pieces)
    ends = _row_ends(text, room, width, at_words=line.kind in ("label", "sentence"))
    rows: list[list[tuple[str, bool]]] = [[] for _ in ends]
    row = at = 0
    for piece, is_hidden in pieces:
        while piece:
            row += at == ends[row]
            taken = piece[: ends[row] - at]
            rows[row].append((taken, is_hidden))
            at += len(taken)
            piece = piece[len(taken) :]
    return rows


def _row_ends(text: str, room: int, width: Callable[[str], int], *, at_words: bool) -> list[int]:
    """Where each row ends. A word that is longer than a row is divided at the width."""
    ends: list[int] = []
    start = used = after_blank = 0
    for at, char in enumerate(text):
        size = 1 if char.isascii() else width(char)
        hangs = at_words and char == " "  # a blank at the end of a row needs no room
        if used + size > room and at > start and not hangs:
            start = after_blank if at_words and after_blank > start else at
            ends.append(start)
            used = sum(map(width, text[start:at]))
        used += size
        if char == " ":
            after_blank = at + 1
    return [*ends, len(text)]


def invisible_characters(lines: Sequence[ApprovalLine]) -> int:
    """How many characters a terminal would obey or not show."""
    shown = (part for line in lines for part in visible_parts(line.text))
    return sum(hidden for _, hidden in shown)


def _plain_lines(text: str) -> list[ApprovalLine]:
    return [ApprovalLine(line) for line in text.split("\n")]


def _change(diff: str) -> Iterator[ApprovalLine]:
    for line in diff_lines(diff):
        match line.kind:
            case "added" | "removed":
                yield ApprovalLine(line.text, line.kind)
            case "file" | "hunk":
                yield ApprovalLine(line.text, "place")
            case "note" | "text":
                yield ApprovalLine(line.text)
