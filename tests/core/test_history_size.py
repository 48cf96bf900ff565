"""How large the live history is: counted once, with the counter's name beside it."""

from msgspec import structs

from sapwood.core.commands import AddReply, Fork, KeepLast, Kill, MaskResults
from sapwood.core.content import Text
from sapwood.core.events import Size
from sapwood.core.history_size import calibrated, count_texts, history, settled, size_of, turn_sizes
from sapwood.core.ids import AgentId
from sapwood.core.token_count import Calibration, Count
from sapwood.testing.core_harness import CharacterCounter
from tests.core.speaking import conversation, does, opens, results, uses_tool

CHARACTERS = CharacterCounter()


class Words:
    """Another counter, which remembers what it was asked."""

    name = "words"
    exact = False

    def __init__(self) -> None:
        self.asked: list[str] = []

    def count(self, text: str) -> Count:
        """One token a word."""
        self.asked.append(text)
        return Count(len(text.split()), exact=False)


def test_texts_are_counted_one_by_one() -> None:
    assert count_texts(["ab", "", "cde"], CHARACTERS) == 5


def test_an_exact_count_stands_and_an_estimate_is_corrected() -> None:
    learnt = Calibration().observe(100, 150)
    assert calibrated(10, CHARACTERS, learnt) == Count(10, exact=True)
    assert calibrated(10, Words(), learnt) == Count(15, exact=False)


def test_a_turn_is_counted_when_it_ends_and_not_again_by_the_same_counter() -> None:
    world, agent = conversation(3)
    counter = Words()
    live = world.lives[agent]
    assert turn_sizes(live, CHARACTERS) == [13, 13, 13]
    assert turn_sizes(live, counter) == [4, 4, 4]
    assert len(counter.asked) == 6
    sized = structs.replace(
        live, turns=tuple(structs.replace(t, size=Size(7, "words")) for t in live.turns)
    )
    counter.asked.clear()
    assert turn_sizes(sized, counter) == [7, 7, 7]
    assert counter.asked == []


def test_the_open_turn_counts_in_the_history_and_not_in_what_is_settled() -> None:
    world, agent = conversation(1)
    opens(world, agent, "ask 2")
    does(world, AddReply(agent, (Text("hm"),)))
    live, plain = world.lives[agent], Calibration()
    assert settled(live, CHARACTERS, plain).tokens == 13
    assert history(live, CHARACTERS, plain).tokens == 20


def test_masked_results_count_as_their_stubs() -> None:
    world, agent = conversation()
    uses_tool(world, agent, "x" * 1_000)
    plain = Calibration()
    before = history(world.lives[agent], CHARACTERS, plain).tokens
    does(world, MaskResults(agent, 100))
    after = history(world.lives[agent], CHARACTERS, plain).tokens
    assert before - after == 1_000 - len(results(world, agent)[0])


def test_a_size_that_nobody_counted_is_counted_when_it_is_needed() -> None:
    world, agent = conversation(1)
    does(world, Fork(agent, child := AgentId("child"), goal="go on"))
    does(world, Kill(agent))
    live = world.lives[child]
    assert [turn.size for turn in live.turns][-1] == Size(0, "")
    told = sum(len(part.text) for part in live.turns[-1].prompt)
    assert turn_sizes(live, CHARACTERS) == [13, told]
    assert settled(live, CHARACTERS, Calibration()).tokens == 13 + told


def test_the_weight_of_a_path_is_the_sum_of_its_turns() -> None:
    world, agent = conversation(4)
    assert world.lives[agent].weight == Size(52, "characters")
    does(world, KeepLast(agent, 1))
    assert world.lives[agent].weight == Size(13, "characters")


def test_the_size_of_a_turn_names_its_counter() -> None:
    world, agent = conversation(1)
    (turn,) = world.lives[agent].turns
    assert size_of(turn, CHARACTERS) == turn.size == Size(13, "characters")
