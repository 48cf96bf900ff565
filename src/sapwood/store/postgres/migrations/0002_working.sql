-- Who has work to do is found without looking at those who have none.
--
-- In the facts a quote inside of a text is escaped, so these characters can only be the field.
-- It seldom changes, and an update that leaves it as it is still writes no index.
ALTER TABLE sapwood.agents ADD COLUMN working boolean NOT NULL
    GENERATED ALWAYS AS (status = 'running' AND strpos(facts, '"working":true') > 0) STORED;

CREATE INDEX agents_working ON sapwood.agents (space, agent) WHERE working;
