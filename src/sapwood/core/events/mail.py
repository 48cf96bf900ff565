"""Events of mail between agents. Mail never carries the user's authority."""

from typing import ClassVar

from msgspec import Struct

from sapwood.core.ids import AgentId

__all__ = ["MailEvent", "MailRead", "MailReceived", "MailSent"]


class MailSent(Struct, frozen=True, gc=False):
    """In the sender's log."""

    kind: ClassVar = "mail.sent"

    mail: str
    to: AgentId
    text: str


class MailReceived(Struct, frozen=True, omit_defaults=True, gc=False):
    """In the receiver's log. `sender` is empty when a person wrote."""

    kind: ClassVar = "mail.received"

    mail: str
    text: str
    sender: str = ""


class MailRead(Struct, frozen=True, omit_defaults=True, gc=False):
    """Mail was read. `noted` mail goes out with the next prompt; else a tool result carried it."""

    kind: ClassVar = "mail.read"

    mails: tuple[str, ...]
    noted: bool = False


MailEvent = MailSent | MailReceived | MailRead
