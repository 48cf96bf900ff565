"""Every message on the page of troubleshooting is one that Sapwood prints."""

import re

import pytest

from tests.docs.test_examples import ROOT
from tools.strings import all_sentences

PAGE = ROOT / "docs" / "troubleshooting.md"


@pytest.mark.night  # it reads all code
def test_the_messages_are_those_of_the_code() -> None:
    printed = "\n".join(each.text for each in all_sentences())
    messages = re.findall(r"^### `(.+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert messages
    assert [each for each in messages if each not in printed] == []
