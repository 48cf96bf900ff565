"""Types of settings with bounds, and the sentence that explains a setting.

A setting is one field of a Struct: its type, its default, and its help. `sapwood config`, the page
of settings and the reference page are made from the fields.
"""

from typing import Annotated

from msgspec import Meta

Natural = Annotated[int, Meta(ge=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


def explained(help: str, *, example: str = "") -> Meta:
    """The help of a setting, and what somebody may type as its value if that is not obvious."""
    return Meta(description=help, examples=[example] if example else None)
