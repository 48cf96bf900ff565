"""Events about mail between agents, and about its erasure. Mail never has the user's authority."""

from typing import ClassVar

from msgspec import Struct

from sapwood.core.ids import AgentId


class MailSent(Struct, frozen=True, gc=False):
    """In the log of the sender: mail was sent."""

    kind: ClassVar = "mail.sent"

    mail: str
    to: AgentId
    text: str


class MailReceived(Struct, frozen=True, omit_defaults=True, gc=False):
    """In the log of the receiver: mail arrived. `sender` is empty if a person wrote it."""

    kind: ClassVar = "mail.received"

    mail: str
    text: str
    sender: str = ""


class MailRead(Struct, frozen=True, omit_defaults=True, gc=False):
    """Mail was read. `noted`: it is put into the next prompt; else it was a tool result.

    `fence` marks its end in a request.
    """

    kind: ClassVar = "mail.read"

    mails: tuple[str, ...]
    noted: bool = False
    fence: str = ""


class WordsErased(Struct, frozen=True, gc=False):
    """Another agent was erased, and its mail and quotations in this log were replaced.

    The earlier events of this log, or of an agent that it was forked from, are not what they were:
    whoever has them in memory must read them again.
    """

    kind: ClassVar = "words.erased"

    source: AgentId


MailEvent = MailSent | MailReceived | MailRead | WordsErased
