"""Words that carry meaning are found in the same way, whether their order matters or not."""

from hypothesis import given
from hypothesis import strategies as st

from sapwood.core.ledger.speech.words import content_words, word_set

WORDS = st.sampled_from(["Retries", "the", "it's", "server’s", "42", "a", "naïve", "-", "x_y", "."])


@given(st.lists(WORDS).map(" ".join) | st.text())
def test_a_set_has_the_words_of_the_list(text: str) -> None:
    assert word_set(text) == set(content_words(text))
