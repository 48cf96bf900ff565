"""Secrets are masked wherever they stand, and ordinary texts are left as they are."""

import pytest

from bench.ordinary_texts import ORDINARY
from bench.secret_dressings import is_masked
from bench.secret_forms import samples
from bench.secret_forms_by_place import BY_PLACE
from bench.texts_of_strangers import ordinary_of_strangers, secrets_of_strangers
from sapwood.redaction import find_secrets, mask_secrets

MAX_VISIBLE = 5


def test_at_most_five_forms_by_place_stay_visible() -> None:
    visible = [each.form for each in samples(BY_PLACE) if not is_masked(each, "plain")]
    assert len(BY_PLACE) >= 150
    assert len(visible) <= MAX_VISIBLE, visible


def test_at_most_five_secrets_of_strangers_stay_visible() -> None:
    visible = [each.text for each in secrets_of_strangers() if not is_masked(each, "plain")]
    assert len(visible) <= MAX_VISIBLE, visible


@pytest.mark.parametrize("text", sorted({*ORDINARY, *ordinary_of_strangers()}))
def test_an_ordinary_text_is_not_masked(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.parametrize("seed", range(2, 5))
def test_masking_twice_changes_nothing_more(seed: int) -> None:
    for each in samples(BY_PLACE, seed):
        once = mask_secrets(each.text)
        assert mask_secrets(once) == once


def test_an_option_whose_name_begins_like_another_one_is_seen() -> None:
    assert mask_secrets("keytool -list -storepass Winter2024x").endswith("[secret: password]")
