-- Agents by owner and by label, without reading those of others.
--
-- `tags` is JSON: owner, labels, metadata. Each owner, each label and each pair of both is a key of
-- the agent, with what lists are ordered by. The hour of the last event stands in for its moment,
-- which would be rewritten by every commit.
ALTER TABLE agents ADD COLUMN tags TEXT NOT NULL DEFAULT '';
CREATE TABLE agent_keys (
    space   TEXT    NOT NULL,
    key     TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    status  TEXT    NOT NULL,
    created INTEGER NOT NULL,
    hour    INTEGER NOT NULL,
    PRIMARY KEY (space, agent, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX agent_keys_by_age ON agent_keys (space, key, status, created, agent);
CREATE INDEX agent_keys_by_hour ON agent_keys (space, key, status, hour);
CREATE INDEX agents_by_hour ON agents (space, status, hour);
