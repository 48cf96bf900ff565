-- Agents by owner and by label, without reading those of others.
--
-- Each owner, each label and each pair of both is a key of the agent, with what lists are ordered
-- by. The hour of the last event stands in for its moment, which would be rewritten by every commit.
-- A trigger keeps the keys, so that workers of an earlier version, which know no tags, leave them
-- as they are and still move the hour.
CREATE TABLE sapwood.agent_keys (
    space   text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    status  text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    hour    bigint NOT NULL,
    PRIMARY KEY (space, agent, key)
);

CREATE INDEX agent_keys_by_age ON sapwood.agent_keys (space, key, status, created, agent);
CREATE INDEX agent_keys_by_hour ON sapwood.agent_keys (space, key, status, hour);

-- Space and status in one value, lest a list by age take this index for a way to the space.
CREATE INDEX agents_by_hour ON sapwood.agents ((status || ' ' || space), hour);

-- The owner of the tables runs it: a worker need not be allowed to write here.
CREATE FUNCTION sapwood.index_agent() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
DECLARE
    tags  json := NEW.facts::json -> 'tags';
    owner text := coalesce(tags ->> 'owner', '');
BEGIN
    IF tags IS NULL THEN
        UPDATE sapwood.agent_keys AS known SET status = NEW.status, hour = coalesce(NEW.hour, 0)
        WHERE known.space = NEW.space AND known.agent = NEW.agent;
        RETURN NULL;
    END IF;
    DELETE FROM sapwood.agent_keys AS known
    WHERE known.space = NEW.space AND known.agent = NEW.agent;
    INSERT INTO sapwood.agent_keys (space, key, agent, status, created, hour)
    SELECT NEW.space, keys.key, NEW.agent, NEW.status, NEW.created, coalesce(NEW.hour, 0)
    FROM (
        SELECT 'o' || owner AS key WHERE owner <> ''
        UNION
        SELECT 'l' || label FROM json_array_elements_text(coalesce(tags -> 'labels', '[]')) AS label
        UNION
        SELECT 'b' || owner || chr(31) || label
        FROM json_array_elements_text(coalesce(tags -> 'labels', '[]')) AS label
        WHERE owner <> ''
    ) AS keys;
    RETURN NULL;
END $$;

-- In the facts a quote inside of a text is escaped, so these characters can only be the field. The
-- tags come last, so what follows them never changes alone.
CREATE TRIGGER index_new AFTER INSERT ON sapwood.agents
FOR EACH ROW WHEN (strpos(NEW.facts, '"tags":') > 0)
EXECUTE FUNCTION sapwood.index_agent();

CREATE TRIGGER index_changed AFTER UPDATE ON sapwood.agents
FOR EACH ROW WHEN (
    NEW.status <> OLD.status
    OR NEW.hour IS DISTINCT FROM OLD.hour
    OR (
        strpos(NEW.facts, '"tags":') > 0
        AND substr(NEW.facts, strpos(NEW.facts, '"tags":'))
            <> substr(OLD.facts, strpos(OLD.facts, '"tags":'))
    )
)
EXECUTE FUNCTION sapwood.index_agent();
