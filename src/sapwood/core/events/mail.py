"""Events about mail between agents. Mail never has the user's authority."""

from typing import ClassVar

from msgspec import Struct

from sapwood.core.ids import AgentId

__all__ = ["MailEvent", "MailRead", "MailReceived", "MailSent"]


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


MailEvent = MailSent | MailReceived | MailRead
