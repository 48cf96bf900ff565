"""A counter that remembers counts each text once, and the same."""

from sapwood.core.counting import Count
from sapwood.garden.remembering import RememberingCounter


class Counted:
    name = "letters"
    exact = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> Count:
        self.asked.append(text)
        return Count(len(text), exact=True)


def test_each_text_is_counted_once() -> None:
    behind = Counted()
    counter = RememberingCounter(behind)
    assert [counter.count(text).tokens for text in ("oak", "elm tree", "oak")] == [3, 8, 3]
    assert behind.asked == ["oak", "elm tree"]
    assert (counter.name, counter.exact) == ("letters", True)
