"""Full-text search of everything in a space."""

from collections.abc import Sequence

from sapwood.core.ids import AgentId, EventRef, Space
from sapwood.core.log import Hit
from sapwood.core.searching import query_phrases, snippet_of, text_of
from sapwood.store.postgres.reading import read_refs
from sapwood.store.postgres.sessions import Fetch
from sapwood.store.postgres.terms import agent_term, space_term

__all__ = ["search"]

_SEARCH = """
    WITH asked AS MATERIALIZED (
        SELECT string_agg('(' || phrase::text || ')', ' & ')::tsquery AS words
        FROM (
            SELECT phraseto_tsquery('sapwood.sapwood', terms) AS phrase
            FROM unnest($3::text[]) AS terms
        ) AS phrases
        WHERE numnode(phrase) > 0
    )
    SELECT agent, version, max(at) AS at, max(ts_rank(terms, asked.words, 1)) AS score
    FROM sapwood.search, asked
    WHERE space = $1 AND terms @@ (SELECT words && $2::text::tsquery FROM asked)
    GROUP BY agent, version
    ORDER BY score DESC, at DESC, agent, version
    LIMIT $4 OFFSET $5
"""


async def search(
    fetch: Fetch,
    space: Space,
    query: str,
    agents: Sequence[AgentId] | None,
    limit: int,
    offset: int,
) -> list[Hit]:
    """Where these words stand in what is indexed, best first."""
    phrases = [" ".join(phrase) for phrase in query_phrases(query)]
    if not phrases or (agents is not None and not agents):
        return []
    rows = await fetch(_SEARCH, space, _scope(space, agents), phrases, limit, offset)
    scores = {EventRef(row["agent"], row["version"]): row["score"] for row in rows}
    events = await read_refs(fetch, space, list(scores))
    return [
        Hit(
            ref,
            events[ref].kind,
            events[ref].at,
            snippet_of(text_of(events[ref].event), query),
            score,
        )
        for ref, score in scores.items()
    ]


def _scope(space: Space, agents: Sequence[AgentId] | None) -> str:
    """The space, and one of the agents, as terms that the index intersects with the words."""
    if agents is None:
        return space_term(space)
    return f"{space_term(space)} & ({' | '.join(agent_term(agent) for agent in agents)})"
