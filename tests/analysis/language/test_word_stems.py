"""The list and the set of content words contain the same words."""

from hypothesis import given
from hypothesis import strategies as st

from sapwood.analysis.language.word_stems import content_words, word_set

WORDS = st.sampled_from(["Retries", "the", "it's", "server’s", "42", "a", "naïve", "-", "x_y", "."])


@given(st.lists(WORDS).map(" ".join) | st.text())
def test_a_set_has_the_words_of_the_list(text: str) -> None:
    assert word_set(text) == set(content_words(text))
