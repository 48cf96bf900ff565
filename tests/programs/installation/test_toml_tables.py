"""Tables come and go, and everything else stays byte by byte."""

import tomllib

import pytest

from sapwood.config.toml_edit import KeyPath
from sapwood.programs.installation.toml_tables import CannotEditToml, with_tables, without_tables

OURS: dict[KeyPath, dict[str, object]] = {
    ("marketplaces", "sapwood"): {"source": "here"},
    ("plugins", "sapwood@sapwood"): {"enabled": True},
}


def is_ours(place: KeyPath) -> bool:
    return place in OURS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = 1\n",
        "# mine\na = 1 # note\n\n[tools]\nb = false\n",
        "a = 1\r\n\r\n[tools]\r\nb = 2\r\n",
        '[plugins."other@x"]\nenabled = true\n',
        'a = """\n[plugins."sapwood@sapwood"]\n"""\n',
    ],
)
def test_what_was_put_in_comes_out_byte_for_byte(text: str) -> None:
    edited = with_tables(text, OURS)
    assert edited.startswith(text)
    assert tomllib.loads(edited)["plugins"]["sapwood@sapwood"] == {"enabled": True}
    if '"""' not in text:
        assert without_tables(edited, is_ours) == text


def test_a_text_that_only_looks_like_a_table_is_never_broken() -> None:
    text = 'a = """\n[plugins."sapwood@sapwood"]\n"""\n'
    with pytest.raises(CannotEditToml):
        without_tables(with_tables(text, OURS), is_ours)


def test_what_others_added_below_stays() -> None:
    edited = with_tables("a = 1\n", OURS) + "\n# theirs\n[theirs]\nb = 2\n"
    assert without_tables(edited, is_ours) == "a = 1\n\n# theirs\n[theirs]\nb = 2\n"


def test_a_comment_at_the_end_stays() -> None:
    edited = with_tables("a = 1\n", OURS) + "# the end\n"
    assert without_tables(edited, is_ours) == "a = 1\n# the end\n"


def test_a_table_that_cannot_be_added_is_refused() -> None:
    with pytest.raises(CannotEditToml):
        with_tables("plugins = 5\n", OURS)
