-- The conversations of a folder, last written to first, without reading those of other folders.
--
-- The folder stands here as the facts have it, in JSON. A quote inside of a text is escaped there,
-- so these characters can only be the fields. An index on the moment of the last event would be
-- rewritten by every commit; the hour of it changes seldom.
ALTER TABLE sapwood.agents
    ADD COLUMN folder text COLLATE "C"
        GENERATED ALWAYS AS (substring(facts from '"folder":"((?:[^"\\]|\\.)*)"')) STORED,
    ADD COLUMN hour bigint
        GENERATED ALWAYS AS (substring(facts from '"updated":(\d+)')::bigint / 3600000000) STORED;

CREATE INDEX agents_by_folder ON sapwood.agents (space, folder, hour)
    WHERE parent IS NULL AND folder IS NOT NULL;
