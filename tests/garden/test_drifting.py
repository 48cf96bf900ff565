"""Drift: every turn has a topic and a status, and shares add up."""

from sapwood.garden import drift_of
from sapwood.tokens import FeatureCounter
from tests.garden.sessions import asked, session


def test_an_empty_session_has_no_topics() -> None:
    assert drift_of(session(), FeatureCounter()).topics == ()


def test_every_turn_has_a_topic_of_the_list() -> None:
    drift = drift_of(session(asked("Add OAuth.", "Done."), asked("Thanks")), FeatureCounter())
    assert [place.turn for place in drift.turns] == [1, 2]
    assert {place.topic for place in drift.turns} <= {topic.name for topic in drift.topics}
    assert round(sum(topic.share for topic in drift.topics), 6) == 1
