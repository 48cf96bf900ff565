"""A search hit as pieces of text, with the words that were found apart."""

from collections.abc import Iterator

from sapwood.core.log_values import SearchHit


def pieces(hit: SearchHit) -> Iterator[tuple[str, bool]]:
    """The pieces of the sentence in order, and whether each is a word that was found.

    >>> from sapwood.core.ids import AgentId, EventRef
    >>> ref = EventRef(AgentId("a"), 1)
    >>> list(pieces(SearchHit(ref, "turn.started", 0, "the heron nests", 1.0, 1, ((4, 9),))))
    [('the ', False), ('heron', True), (' nests', False)]
    """
    at = 0
    for start, end in hit.marks:
        if start > at:
            yield hit.snippet[at:start], False
        yield hit.snippet[start:end], True
        at = end
    if at < len(hit.snippet):
        yield hit.snippet[at:], False
