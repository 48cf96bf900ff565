CREATE SCHEMA sapwood;
CREATE TABLE sapwood.migrations (number integer PRIMARY KEY, name text NOT NULL, since timestamptz NOT NULL DEFAULT now());
-- The log, and what is kept beside it.
--
-- Keys start with the space. Text compares by its bytes (COLLATE "C"): a prefix is a range,
-- and no update of the system's collations can break an index.

CREATE SEQUENCE sapwood.positions CACHE 64;

CREATE TABLE sapwood.events (
    space    text COLLATE "C" NOT NULL,
    agent    text COLLATE "C" NOT NULL,
    version  bigint NOT NULL,
    kind     text COLLATE "C" NOT NULL,
    data     text COLLATE "C" NOT NULL, -- not jsonb: its exact bytes matter
    contents bytea,                     -- hashes of the texts kept apart, 32 bytes each
    at       bigint NOT NULL,
    actor    text COLLATE "C" NOT NULL,
    command  text COLLATE "C" NOT NULL,
    position bigint NOT NULL DEFAULT nextval('sapwood.positions'),
    tx       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (space, agent, version)
) PARTITION BY HASH (space, agent);

CREATE INDEX events_tail ON sapwood.events (space, tx, position);

CREATE TABLE sapwood.contents (
    space text COLLATE "C" NOT NULL,
    hash  bytea NOT NULL,
    data  bytea NOT NULL,
    PRIMARY KEY (space, hash)
) PARTITION BY HASH (space, hash);

CREATE TABLE sapwood.receipts (
    space   text COLLATE "C" NOT NULL,
    command text COLLATE "C" NOT NULL,
    data    text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, command)
) PARTITION BY HASH (space, command);

CREATE TABLE sapwood.snapshots (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    schema  text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (space, agent, schema, version)
) PARTITION BY HASH (space, agent);

-- Whoever appends updates the agent's row here, so writers of one agent wait for each other and
-- for nobody else. Not partitioned: an UPDATE would lock every partition. No index holds what
-- changes at every commit and each page keeps room, so that an update writes no index.
CREATE TABLE sapwood.agents (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    facts   text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    parent  text COLLATE "C",
    status  text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    PRIMARY KEY (space, agent)
) WITH (fillfactor = 70);

CREATE INDEX agents_by_age ON sapwood.agents (space, created, agent);
CREATE INDEX agents_by_status ON sapwood.agents (space, status, created, agent);
CREATE INDEX agents_by_parent ON sapwood.agents (space, parent, created, agent);
CREATE INDEX agents_by_name ON sapwood.agents (space, name, created, agent);

-- Search is a projection of the log, made after the fact and never in the way of an append.
-- Terms are plain ASCII when they come. Words are stemmed, and none is too common to be found.
CREATE TEXT SEARCH DICTIONARY sapwood.stem (TEMPLATE = snowball, LANGUAGE = english);
CREATE TEXT SEARCH CONFIGURATION sapwood.sapwood (PARSER = default);
ALTER TEXT SEARCH CONFIGURATION sapwood.sapwood
    ADD MAPPING FOR asciiword WITH sapwood.stem;
ALTER TEXT SEARCH CONFIGURATION sapwood.sapwood
    ADD MAPPING FOR word, numword, int, uint, float, sfloat, version WITH simple;

-- `part` counts the pieces of a very long text. Space and agent are among the terms, so that the
-- index itself leaves out strangers. The key does not start with the space, lest a search take it
-- for a way to the words.
CREATE TABLE sapwood.search (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    part    integer NOT NULL,
    at      bigint NOT NULL,
    terms   tsvector NOT NULL,
    PRIMARY KEY (agent, version, part, space)
) PARTITION BY HASH (space);

CREATE INDEX search_terms ON sapwood.search USING gin (terms);

-- How far the projection has come in each space.
CREATE TABLE sapwood.searchable (
    space    text COLLATE "C" PRIMARY KEY,
    tx       xid8 NOT NULL,
    position bigint NOT NULL
) WITH (fillfactor = 50);

-- Which server numbers the transactions, and what to add to its numbers: a dump restored on
-- another server meets numbers that start anew, and the order of events must not.
CREATE TABLE sapwood.epochs (
    number integer PRIMARY KEY,
    server text NOT NULL,
    shift  bigint NOT NULL,
    since  timestamptz NOT NULL DEFAULT now()
);

-- Long texts compress faster with lz4, where the server was built with it.
DO $$
BEGIN
    ALTER TABLE sapwood.contents ALTER COLUMN data SET COMPRESSION lz4;
    ALTER TABLE sapwood.snapshots ALTER COLUMN data SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;

DO $$
BEGIN
    FOR i IN 0..31 LOOP
        EXECUTE format(
            'CREATE TABLE sapwood.events_%1$s PARTITION OF sapwood.events
             FOR VALUES WITH (MODULUS 32, REMAINDER %1$s)', i);
    END LOOP;
    FOR i IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE sapwood.contents_%1$s PARTITION OF sapwood.contents
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s);
             CREATE TABLE sapwood.receipts_%1$s PARTITION OF sapwood.receipts
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s);
             CREATE TABLE sapwood.snapshots_%1$s PARTITION OF sapwood.snapshots
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s);
             CREATE TABLE sapwood.search_%1$s PARTITION OF sapwood.search
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', i);
    END LOOP;
END $$;

-- Nobody chooses the place of an event. NOT VALID, because a restored dump brings old places:
-- only what is inserted from now on is held to it.
ALTER TABLE sapwood.events
    ADD CONSTRAINT events_tx CHECK (tx = pg_current_xact_id()) NOT VALID,
    ADD CONSTRAINT events_position CHECK (position = currval('sapwood.positions')) NOT VALID;

CREATE FUNCTION sapwood.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Table % is append-only: what was recorded is kept for ever.', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

-- Partitions can be named like any table, and sessions that replicate skip ordinary triggers.
DO $$
DECLARE
    kept regclass;
BEGIN
    FOR kept IN
        SELECT tree.relid
        FROM unnest('{sapwood.events,sapwood.contents,sapwood.receipts}'::regclass[]) AS root,
             pg_partition_tree(root) AS tree
        ORDER BY tree.level
    LOOP
        -- Row triggers of a partitioned table reach its partitions by themselves.
        IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = kept AND tgname = 'refuse_change') THEN
            EXECUTE format('CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON %s
                            FOR EACH ROW EXECUTE FUNCTION sapwood.refuse()', kept);
        END IF;
        EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON %s
                        FOR EACH STATEMENT EXECUTE FUNCTION sapwood.refuse()', kept);
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER refuse_change', kept);
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER refuse_truncate', kept);
    END LOOP;
END $$;

-- Appends any number of commits together, in one call and so in one transaction.
--
-- Columns of many rows arrive as one text, split at a mark that none of them holds: reading that
-- takes a fraction of what an array parameter costs on both sides. A column of a single empty text
-- arrives as an empty array, hence the coalesce.
--
-- The order inside is what keeps writers from deadlock: first the agents, then contents, then
-- receipts, each sorted by its key by the caller. Agents come first for the tail as well: a
-- transaction gets its number with its first write, when it has seen the versions it goes on from,
-- so later versions of an agent never have earlier numbers.
CREATE FUNCTION sapwood.append(
    mark text,
    a_space text, a_agent text, a_expected text, a_version text, a_facts text,
    a_name text, a_parent text, a_status text, a_created text,
    r_space text, r_command text, r_data text,
    c_space text[], c_hash bytea[], c_data bytea[],
    e_space text, e_agent text, e_version text, e_kind text, e_data text,
    e_contents text, e_at text, e_actor text, e_command text
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    spaces    text[]   := string_to_array(a_space, mark);
    agents    text[]   := string_to_array(a_agent, mark);
    expecteds bigint[] := string_to_array(a_expected, mark);
    versions  bigint[] := string_to_array(a_version, mark);
    facts_now text[]   := string_to_array(a_facts, mark);
    names     text[]   := string_to_array(a_name, mark);
    parents   text[]   := string_to_array(a_parent, mark);
    statuses  text[]   := string_to_array(a_status, mark);
    createds  bigint[] := string_to_array(a_created, mark);
BEGIN
    -- All expected versions are seen before the first write gives this transaction its number.
    IF EXISTS (
        SELECT FROM unnest(spaces, agents, expecteds) AS asked (space, agent, expected)
        WHERE asked.expected > 0 AND NOT EXISTS (
            SELECT FROM sapwood.agents AS known
            WHERE known.space = coalesce(asked.space, '')
                AND known.agent = coalesce(asked.agent, '')
                AND known.version = asked.expected
        )
    ) THEN
        RAISE EXCEPTION 'A log is not at the expected version.' USING ERRCODE = 'SW409';
    END IF;
    -- A loop, because no plan of a join promises in which order it locks rows.
    FOR i IN 1..coalesce(cardinality(expecteds), 0) LOOP
        IF expecteds[i] = 0 THEN
            INSERT INTO sapwood.agents (space, agent, version, facts, name, parent, status, created)
            VALUES (
                coalesce(spaces[i], ''), coalesce(agents[i], ''), versions[i], facts_now[i],
                coalesce(names[i], ''), nullif(parents[i], ''), statuses[i], createds[i]
            );
        ELSE
            UPDATE sapwood.agents AS known
            SET version = versions[i], facts = facts_now[i], name = coalesce(names[i], ''),
                parent = nullif(parents[i], ''), status = statuses[i], created = createds[i]
            WHERE known.space = coalesce(spaces[i], '') AND known.agent = coalesce(agents[i], '')
                AND known.version = expecteds[i];
            IF NOT FOUND THEN
                RAISE EXCEPTION 'A log is not at the expected version.' USING ERRCODE = 'SW409';
            END IF;
        END IF;
    END LOOP;
    IF c_hash IS NOT NULL THEN
        INSERT INTO sapwood.contents (space, hash, data)
        SELECT content.space, content.hash, content.data
        FROM unnest(c_space, c_hash, c_data) AS content (space, hash, data)
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO sapwood.receipts (space, command, data)
    SELECT coalesce(receipt.space, ''), coalesce(receipt.command, ''), receipt.data
    FROM unnest(
        string_to_array(r_space, mark),
        string_to_array(r_command, mark),
        string_to_array(r_data, mark)
    ) AS receipt (space, command, data);
    INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command)
    SELECT coalesce(event.space, ''), coalesce(event.agent, ''), event.version, event.kind,
           event.data, decode(nullif(event.contents, ''), 'hex'), event.at, event.actor,
           coalesce(event.command, '')
    FROM unnest(
        string_to_array(e_space, mark),
        string_to_array(e_agent, mark),
        string_to_array(e_version, mark)::bigint[],
        string_to_array(e_kind, mark),
        string_to_array(e_data, mark),
        string_to_array(e_contents, mark),
        string_to_array(e_at, mark)::bigint[],
        string_to_array(e_actor, mark),
        string_to_array(e_command, mark)
    ) AS event (space, agent, version, kind, data, contents, at, actor, command);
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (1, '0001_log.sql');
-- Who has work to do is found without looking at those who have none.
--
-- In the facts a quote inside of a text is escaped, so these characters can only be the field.
-- It seldom changes, and an update that leaves it as it is still writes no index.
ALTER TABLE sapwood.agents ADD COLUMN working boolean NOT NULL
    GENERATED ALWAYS AS (status = 'running' AND strpos(facts, '"working":true') > 0) STORED;

CREATE INDEX agents_working ON sapwood.agents (space, agent) WHERE working;
INSERT INTO sapwood.migrations (number, name) VALUES (2, '0002_working.sql');
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
INSERT INTO sapwood.migrations (number, name) VALUES (3, '0003_folders.sql');
-- Cursors count the events of their own space. Those of earlier versions were positions over all
-- spaces; they stay valid for the events that were stored before this migration, and for no later
-- ones, so that nobody can find out by trying how much others have written since.
CREATE TABLE sapwood.old_cursors (
    tx xid8 NOT NULL -- of the last event before the migration
);

INSERT INTO sapwood.old_cursors SELECT tx FROM sapwood.events ORDER BY tx DESC LIMIT 1;
INSERT INTO sapwood.migrations (number, name) VALUES (4, '0004_cursors.sql');
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
INSERT INTO sapwood.migrations (number, name) VALUES (5, '0005_tags.sql');
-- Erasure is the one exception to 'append-only', by the functions at the end. They set
-- `sapwood.erasure` to the id of an unfinished erasure for the time of their work, and then the
-- guards of the log pass. They run with the rights of the owner of the tables, and only those who
-- were granted them can call them.

-- The oldest schema whose programs work with the tables after a migration; its own if none.
ALTER TABLE sapwood.migrations ADD COLUMN IF NOT EXISTS oldest integer;

-- What was erased when by whom. Counts, and nothing of what was erased.
CREATE TABLE sapwood.erasures (
    id        text COLLATE "C" PRIMARY KEY,
    space     text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    by        text COLLATE "C" NOT NULL,
    scope     text COLLATE "C" NOT NULL,
    agents    bigint NOT NULL DEFAULT 0,
    events    bigint NOT NULL DEFAULT 0,
    contents  bigint NOT NULL DEFAULT 0,
    rewritten bigint NOT NULL DEFAULT 0,
    finished  bigint NOT NULL DEFAULT 0
);

CREATE INDEX erasures_by_age ON sapwood.erasures (space, at);
CREATE INDEX erasures_unfinished ON sapwood.erasures (at) WHERE finished = 0;

-- The agents of unfinished erasures. The rows go when the erasure is finished.
CREATE TABLE sapwood.erasing (
    erasure text COLLATE "C" NOT NULL,
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    deleted boolean NOT NULL DEFAULT false,
    outside text COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (space, agent)
);

CREATE INDEX erasing_by_erasure ON sapwood.erasing (erasure);

-- Where erased events were. Cursors count events, so they need to know.
CREATE TABLE sapwood.gaps (
    space    text COLLATE "C" NOT NULL,
    tx       xid8 NOT NULL,
    position bigint NOT NULL,
    PRIMARY KEY (space, tx, position)
);

-- Long texts that an erased event referred to, until it is known whether another one does.
CREATE TABLE sapwood.orphans (
    erasure text COLLATE "C" NOT NULL,
    space   text COLLATE "C" NOT NULL,
    hash    bytea NOT NULL,
    PRIMARY KEY (space, hash)
);

CREATE TABLE sapwood.holds (
    id          text COLLATE "C" PRIMARY KEY,
    space       text COLLATE "C" NOT NULL,
    at          bigint NOT NULL,
    by          text COLLATE "C" NOT NULL,
    scope       text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    reason      text COLLATE "C" NOT NULL,
    released    bigint NOT NULL DEFAULT 0,
    released_by text COLLATE "C" NOT NULL DEFAULT ''
);

CREATE INDEX holds_by_age ON sapwood.holds (space, at);

-- Which long texts are in use: the hashes of an event, 32 bytes each.
CREATE FUNCTION sapwood.hashes(contents bytea) RETURNS bytea[]
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT coalesce(array_agg(pg_catalog.substr(contents, 1 + 32 * n, 32)), '{}')
    FROM pg_catalog.generate_series(0, pg_catalog.octet_length(contents) / 32 - 1) AS n
$$;

CREATE INDEX events_contents ON sapwood.events USING gin (sapwood.hashes(contents))
    WHERE contents IS NOT NULL;
CREATE INDEX events_that_quote ON sapwood.events (space) WHERE kind = 'context.loaded';

-- Statistics would keep samples of texts in the catalogue, where no erasure reaches them.
ALTER TABLE sapwood.events ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE sapwood.agents ALTER COLUMN facts SET STATISTICS 0;
ALTER TABLE sapwood.agents ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE sapwood.agent_keys ALTER COLUMN key SET STATISTICS 0;
ALTER TABLE sapwood.receipts ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE sapwood.contents ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE sapwood.snapshots ALTER COLUMN data SET STATISTICS 0;
ALTER TABLE sapwood.search ALTER COLUMN terms SET STATISTICS 0;

-- Whether the running transaction erases.
CREATE FUNCTION sapwood.is_erasing() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(pg_catalog.current_setting('sapwood.erasure', true), '') <> '' AND EXISTS (
        SELECT FROM sapwood.erasures
        WHERE id = pg_catalog.current_setting('sapwood.erasure', true) AND finished = 0
    )
$$;

CREATE OR REPLACE FUNCTION sapwood.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND sapwood.is_erasing() THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND sapwood.is_erasing() THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Table % is append-only: what was recorded is kept for ever.', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

-- An event that is rewritten keeps its place.
ALTER TABLE sapwood.events
    DROP CONSTRAINT events_position,
    ADD CONSTRAINT events_position CHECK (
        CASE WHEN coalesce(current_setting('sapwood.erasure', true), '') <> '' THEN true
        ELSE position = currval('sapwood.positions') END
    ) NOT VALID;

DO $$
DECLARE
    place text;
BEGIN
    SELECT substring(pg_get_constraintdef(oid) from 'CHECK \(\((.*)\)\)') INTO place
    FROM pg_constraint WHERE conrelid = 'sapwood.events'::regclass AND conname = 'events_tx';
    EXECUTE format(
        'ALTER TABLE sapwood.events DROP CONSTRAINT events_tx, ADD CONSTRAINT events_tx CHECK (
            CASE WHEN coalesce(current_setting(''sapwood.erasure'', true), '''') <> '''' THEN true
            ELSE %s END
        ) NOT VALID', place);
END $$;

-- The function for appends takes a shared lock before it stores long texts, so that an erasure does
-- not delete a text to which a running transaction refers. Workers of earlier versions call it too.
DO $$
DECLARE
    body text := pg_get_functiondef('sapwood.append'::regproc);
    before text := 'INSERT INTO sapwood.contents (space, hash, data)';
BEGIN
    IF position(before in body) = 0 THEN
        RAISE EXCEPTION 'The function sapwood.append is not the one of the first migration.';
    END IF;
    EXECUTE replace(body, before, '
        PERFORM pg_advisory_xact_lock_shared(1398106212, hashtext(content.space))
        FROM (SELECT DISTINCT space FROM unnest(c_space) AS content (space) ORDER BY space)
            AS content;
        ' || before);
END $$;

CREATE FUNCTION sapwood.begin_erasure(
    p_id text, p_space text, p_at bigint, p_by text, p_scope text, p_agents text[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO sapwood.erasures (id, space, at, by, scope)
    VALUES (p_id, p_space, p_at, p_by, p_scope);
    INSERT INTO sapwood.erasing (erasure, space, agent)
    SELECT p_id, p_space, agent FROM unnest(p_agents) AS agent ON CONFLICT DO NOTHING;
END $$;

-- Replaces the data of an event of another agent, in which the erased one had words.
CREATE FUNCTION sapwood.rewrite_event(
    p_erasure text, p_space text, p_agent text, p_version bigint, p_data text, p_contents bytea,
    p_hashes bytea[], p_texts bytea[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('sapwood.erasure', p_erasure, true);
    INSERT INTO sapwood.orphans (erasure, space, hash)
    SELECT p_erasure, p_space, hash
    FROM sapwood.events, unnest(sapwood.hashes(contents)) AS hash
    WHERE space = p_space AND agent = p_agent AND version = p_version
    ON CONFLICT DO NOTHING;
    PERFORM pg_advisory_xact_lock_shared(1398106212, hashtext(p_space));
    INSERT INTO sapwood.contents (space, hash, data)
    SELECT p_space, hash, data FROM unnest(p_hashes, p_texts) AS text (hash, data)
    ON CONFLICT DO NOTHING;
    UPDATE sapwood.events SET data = p_data, contents = p_contents
    WHERE space = p_space AND agent = p_agent AND version = p_version;
    DELETE FROM sapwood.snapshots WHERE space = p_space AND agent = p_agent;
    DELETE FROM sapwood.search
    WHERE space = p_space AND agent = p_agent AND version = p_version;
    UPDATE sapwood.erasures SET rewritten = rewritten + 1 WHERE id = p_erasure;
    PERFORM set_config('sapwood.erasure', '', true);
END $$;

-- Replaces the answer to a command of another agent, in which the erased one had words.
CREATE FUNCTION sapwood.rewrite_receipt(
    p_erasure text, p_space text, p_command text, p_data text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('sapwood.erasure', p_erasure, true);
    UPDATE sapwood.receipts SET data = p_data WHERE space = p_space AND command = p_command;
    PERFORM set_config('sapwood.erasure', '', true);
END $$;

-- Deletes everything of one agent that is planned to be erased, and plans its children.
CREATE FUNCTION sapwood.erase_agent(
    p_erasure text, p_space text, p_agent text, p_outside text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    erased bigint;
BEGIN
    IF NOT EXISTS (
        SELECT FROM sapwood.erasing
        WHERE erasure = p_erasure AND space = p_space AND agent = p_agent AND NOT deleted
        FOR UPDATE
    ) THEN
        RETURN;
    END IF;
    PERFORM FROM sapwood.agents WHERE space = p_space AND agent = p_agent FOR UPDATE;
    PERFORM set_config('sapwood.erasure', p_erasure, true);
    INSERT INTO sapwood.erasing (erasure, space, agent)
    SELECT p_erasure, space, agent FROM sapwood.agents WHERE space = p_space AND parent = p_agent
    ON CONFLICT DO NOTHING;
    INSERT INTO sapwood.gaps (space, tx, position)
    SELECT space, tx, position FROM sapwood.events WHERE space = p_space AND agent = p_agent;
    INSERT INTO sapwood.orphans (erasure, space, hash)
    SELECT DISTINCT p_erasure, space, hash
    FROM sapwood.events, unnest(sapwood.hashes(contents)) AS hash
    WHERE space = p_space AND agent = p_agent AND contents IS NOT NULL
    ON CONFLICT DO NOTHING;
    -- The answers to its commands go. Those that other agents share keep their place.
    UPDATE sapwood.receipts AS receipt
    SET data = (
        json_build_object('command', command, 'says', '[erased]', 'events', (
            SELECT json_agg(ref) FROM json_array_elements(data::json -> 'events') AS ref
            WHERE ref ->> 0 <> p_agent
        ))
    )::text
    WHERE space = p_space AND command IN (
        SELECT command FROM sapwood.events WHERE space = p_space AND agent = p_agent
    ) AND EXISTS (
        SELECT FROM json_array_elements(data::json -> 'events') AS ref WHERE ref ->> 0 <> p_agent
    );
    DELETE FROM sapwood.receipts AS receipt
    WHERE space = p_space AND command IN (
        SELECT command FROM sapwood.events WHERE space = p_space AND agent = p_agent
    ) AND NOT EXISTS (
        SELECT FROM json_array_elements(data::json -> 'events') AS ref WHERE ref ->> 0 <> p_agent
    );
    DELETE FROM sapwood.snapshots WHERE space = p_space AND agent = p_agent;
    DELETE FROM sapwood.search WHERE space = p_space AND agent = p_agent;
    DELETE FROM sapwood.events WHERE space = p_space AND agent = p_agent;
    GET DIAGNOSTICS erased = ROW_COUNT;
    DELETE FROM sapwood.agents WHERE space = p_space AND agent = p_agent;
    DELETE FROM sapwood.agent_keys WHERE space = p_space AND agent = p_agent;
    UPDATE sapwood.erasing SET deleted = true, outside = p_outside
    WHERE space = p_space AND agent = p_agent;
    UPDATE sapwood.erasures SET agents = agents + 1, events = events + erased
    WHERE id = p_erasure;
    PERFORM set_config('sapwood.erasure', '', true);
END $$;

-- Deletes the long texts that no event refers to any more. The lock waits for transactions that
-- store texts, and keeps others waiting until this one ends.
CREATE FUNCTION sapwood.erase_contents(p_erasure text, p_space text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    erased bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1398106212, hashtext(p_space));
    PERFORM set_config('sapwood.erasure', p_erasure, true);
    DELETE FROM sapwood.contents AS content USING sapwood.orphans AS orphan
    WHERE orphan.space = p_space AND content.space = p_space AND content.hash = orphan.hash
        AND NOT EXISTS (
            SELECT FROM sapwood.events AS event
            WHERE event.space = p_space AND event.contents IS NOT NULL
                AND sapwood.hashes(event.contents) @> ARRAY[orphan.hash]
        );
    GET DIAGNOSTICS erased = ROW_COUNT;
    DELETE FROM sapwood.orphans WHERE space = p_space;
    UPDATE sapwood.erasures SET contents = contents + erased WHERE id = p_erasure;
    PERFORM set_config('sapwood.erasure', '', true);
END $$;

-- Deletes what a space has beside its agents.
CREATE FUNCTION sapwood.clear_space(p_erasure text, p_space text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1398106212, hashtext(p_space));
    PERFORM set_config('sapwood.erasure', p_erasure, true);
    DELETE FROM sapwood.receipts WHERE space = p_space;
    DELETE FROM sapwood.contents AS content WHERE space = p_space AND NOT EXISTS (
        SELECT FROM sapwood.events AS event
        WHERE event.space = p_space AND event.contents IS NOT NULL
            AND sapwood.hashes(event.contents) @> ARRAY[content.hash]
    );
    DELETE FROM sapwood.gaps WHERE space = p_space;
    DELETE FROM sapwood.orphans WHERE space = p_space;
    DELETE FROM sapwood.searchable WHERE space = p_space
        AND NOT EXISTS (SELECT FROM sapwood.events WHERE space = p_space);
    PERFORM set_config('sapwood.erasure', '', true);
END $$;

CREATE FUNCTION sapwood.forget_agents(p_erasure text)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM sapwood.erasing WHERE erasure = p_erasure
$$;

CREATE FUNCTION sapwood.finish_erasure(p_erasure text, p_at bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE sapwood.erasures SET finished = p_at WHERE id = p_erasure
$$;

DO $$
DECLARE
    name regprocedure;
BEGIN
    FOR name IN
        SELECT oid FROM pg_proc WHERE pronamespace = 'sapwood'::regnamespace AND prosecdef
            AND prorettype <> 'trigger'::regtype
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', name);
    END LOOP;
END $$;

-- Roles that may read events may read what programs of this version look up beside them.
DO $$
DECLARE
    reader text;
BEGIN
    FOR reader IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.events'::regclass AND privilege_type = 'SELECT'
    LOOP
        EXECUTE format('GRANT SELECT ON sapwood.erasures, sapwood.erasing, sapwood.gaps,
                        sapwood.holds, sapwood.agent_keys TO %s', reader);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (6, '0006_erasure.sql');
-- The index of words in parts by agent, so that one big space is not one part.
--
-- The index is made of the events, so it is made anew: nothing is copied while others wait for the
-- table. Workers index in the background; until they are done, a search finds what they have
-- reached, and what is newest. The table has the same name and columns as before, so workers of an
-- earlier version go on with it.
CREATE TEMPORARY TABLE search_rights ON COMMIT DROP AS
SELECT given.grantee::regrole::text AS grantee, given.privilege_type AS privilege
FROM pg_class, aclexplode(relacl) AS given
WHERE pg_class.oid = 'sapwood.search'::regclass
    AND given.grantee <> 0 AND given.grantee <> pg_class.relowner;

DROP TABLE sapwood.search;

CREATE TABLE sapwood.search (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    part    integer NOT NULL,
    at      bigint NOT NULL,
    terms   tsvector NOT NULL,
    PRIMARY KEY (agent, version, part, space)
) PARTITION BY HASH (agent);

CREATE INDEX search_terms ON sapwood.search USING gin (terms);

DO $$
DECLARE
    kept record;
BEGIN
    FOR i IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE sapwood.search_%1$s PARTITION OF sapwood.search
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', i);
    END LOOP;
    FOR kept IN SELECT * FROM search_rights LOOP
        EXECUTE format('GRANT %s ON sapwood.search TO %s', kept.privilege, kept.grantee);
    END LOOP;
END $$;

-- As before: samples of the words of users are not kept for the planner.
ALTER TABLE sapwood.search ALTER COLUMN terms SET STATISTICS 0;

DELETE FROM sapwood.searchable;
INSERT INTO sapwood.migrations (number, name) VALUES (7, '0007_search_partitions.sql');
-- oldest: 7
-- What several servers share: tokens, limits of requests, and a wall between spaces.

-- Tokens of the server, as hashes. `expires` is in seconds since 1970, 0 for never.
CREATE TABLE sapwood.tokens (
    id      text COLLATE "C" PRIMARY KEY,
    hash    text COLLATE "C" NOT NULL UNIQUE,
    name    text COLLATE "C" NOT NULL,
    space   text COLLATE "C" NOT NULL,
    scopes  text[] NOT NULL,
    created bigint NOT NULL,
    expires bigint NOT NULL,
    kind    text COLLATE "C" NOT NULL
);

CREATE INDEX tokens_by_expiry ON sapwood.tokens (expires) WHERE expires > 0;

-- Servers remember tokens for some seconds. Whoever removes one tells them all at once.
CREATE FUNCTION sapwood.announce_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sapwood', 'tokens');
    RETURN NULL;
END $$;

CREATE TRIGGER announce AFTER DELETE OR UPDATE OR TRUNCATE ON sapwood.tokens
FOR EACH STATEMENT EXECUTE FUNCTION sapwood.announce_tokens();

-- When a principal or a space will have used up what it may: GCRA, in seconds since 1970. Not in the
-- write-ahead log: after a crash of the database, all begin anew.
CREATE UNLOGGED TABLE sapwood.request_limits (
    key text COLLATE "C" PRIMARY KEY,
    due double precision NOT NULL
) WITH (fillfactor = 50);

-- Row-level security, so that a role for readers can be kept to one space: `sapwood migrate
-- --print-grants` makes that role and the policy that restricts it. Everybody else sees every row
-- that their rights let them see, as before.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'events', 'contents', 'receipts', 'snapshots', 'agents', 'agent_keys', 'search',
        'searchable', 'gaps', 'erasures', 'holds'
    ] LOOP
        EXECUTE format('ALTER TABLE sapwood.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY everybody ON sapwood.%I USING (true) WITH CHECK (true)', name);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (8, '0008_servers.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 8;
-- oldest: 7
-- The keys of encrypted spaces, wrapped by a master key that is not in the database. A space is
-- encrypted from its first agent on, or not at all. `id` names the key, `master` the master key.
--
-- Programs of the schema before know no keys. They work in all other spaces; in an encrypted one the
-- triggers refuse what they would store.
CREATE TABLE sapwood.space_keys (
    space   text COLLATE "C" PRIMARY KEY,
    id      text COLLATE "C" NOT NULL,
    master  text COLLATE "C" NOT NULL,
    wrapped bytea NOT NULL
);

ALTER TABLE sapwood.space_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON sapwood.space_keys USING (true) WITH CHECK (true);

-- A key is stored only while the space has no agent. The lock waits for transactions that start one.
CREATE FUNCTION sapwood.check_new_key() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1398106213, hashtext(NEW.space));
    IF EXISTS (SELECT FROM sapwood.agents WHERE space = NEW.space) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER check_new BEFORE INSERT ON sapwood.space_keys
FOR EACH ROW EXECUTE FUNCTION sapwood.check_new_key();

-- A new agent is sealed with the key of its space, or not at all if the space has none. In the facts
-- a quote inside of a text is escaped, so these characters can only be the one entry of the metadata.
CREATE FUNCTION sapwood.check_agent_key() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1398106213, hashtext(NEW.space));
    IF coalesce((SELECT id FROM sapwood.space_keys WHERE space = NEW.space), '')
        <> coalesce(substring(NEW.facts from '\["\$sealed","\$1([0-9a-f]{16})'), '')
    THEN
        RAISE EXCEPTION 'The space % is encrypted with another key, or not encrypted.', NEW.space
            USING ERRCODE = 'SW423';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER check_key BEFORE INSERT ON sapwood.agents
FOR EACH ROW EXECUTE FUNCTION sapwood.check_agent_key();

CREATE FUNCTION sapwood.refuse_plain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The space % is encrypted.', NEW.space USING ERRCODE = 'SW423';
END $$;

CREATE TRIGGER refuse_plain BEFORE UPDATE ON sapwood.agents
FOR EACH ROW WHEN (
    strpos(OLD.facts, '["$sealed","$1') > 0 AND strpos(NEW.facts, '["$sealed","$1') = 0
)
EXECUTE FUNCTION sapwood.refuse_plain();

-- As before, and the key goes with the last agent.
DO $$
DECLARE
    body text := pg_get_functiondef('sapwood.clear_space'::regproc);
    before text := 'DELETE FROM sapwood.gaps WHERE space = p_space;';
BEGIN
    IF position(before in body) = 0 THEN
        RAISE EXCEPTION 'The function sapwood.clear_space is not the one of the sixth migration.';
    END IF;
    EXECUTE replace(body, before, '
        PERFORM pg_advisory_xact_lock(1398106213, hashtext(p_space));
        DELETE FROM sapwood.space_keys WHERE space = p_space
            AND NOT EXISTS (SELECT FROM sapwood.agents WHERE space = p_space);
        ' || before);
END $$;

-- Roles that may append may read keys and store new ones.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT ON sapwood.space_keys TO %s', writer);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (9, '0009_space_keys.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 9;
-- oldest: 7
-- Where the events stand that cursors count, so that a cursor is found without counting from the
-- beginning: one row for each thousand events of a space. It is computed from the events, by those
-- who have stored many of them and when a cursor is asked for.
CREATE TABLE sapwood.cursor_places (
    space    text COLLATE "C" NOT NULL,
    events   bigint NOT NULL, -- how many events the space has up to here, with erased ones
    tx       xid8 NOT NULL,   -- the place of the last of them
    position bigint NOT NULL,
    PRIMARY KEY (space, events)
);

-- As before, and the places go with the gaps.
DO $$
DECLARE
    body text := pg_get_functiondef('sapwood.clear_space'::regproc);
    before text := 'DELETE FROM sapwood.gaps WHERE space = p_space;';
BEGIN
    IF position(before in body) = 0 THEN
        RAISE EXCEPTION 'The function sapwood.clear_space is not the one of the ninth migration.';
    END IF;
    EXECUTE replace(body, before, '
        DELETE FROM sapwood.cursor_places WHERE space = p_space;
        ' || before);
END $$;

-- Roles that may append may store places.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT ON sapwood.cursor_places TO %s', writer);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (10, '0010_cursor_places.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 10;
-- oldest: 7
-- The words of replies that are still arriving, one row for each agent. The row is replaced while
-- words arrive, and goes in the commit that ends the reply. Encrypted in encrypted spaces.
--
-- Not in the write-ahead log: words survive the end of any program, and after a crash of the server
-- the program that receives them stores them again.
CREATE UNLOGGED TABLE sapwood.live_words (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    asked   bigint NOT NULL,           -- the version of the model call
    command text COLLATE "C" NOT NULL, -- of the last words
    data    text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, agent)
) WITH (fillfactor = 50);

ALTER TABLE sapwood.live_words ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON sapwood.live_words USING (true) WITH CHECK (true);
-- Samples of the words of users are not kept for the planner.
ALTER TABLE sapwood.live_words ALTER COLUMN data SET STATISTICS 0;

-- Deletes the words of agents whose replies end, after their rows in `agents` were changed: whoever
-- stores the first words of a reply locks that row. A command that is not NULL must be the one of
-- the last words, empty if there are none; else words came that the caller does not know.
CREATE FUNCTION sapwood.end_words(spaces text[], agents text[], commands text[])
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1..cardinality(spaces) LOOP
        DELETE FROM sapwood.live_words
        WHERE space = spaces[i] AND agent = agents[i]
            AND (commands[i] IS NULL OR command = commands[i]);
        IF (NOT FOUND AND commands[i] <> '') OR (commands[i] IS NOT NULL AND EXISTS (
            SELECT FROM sapwood.live_words WHERE space = spaces[i] AND agent = agents[i]
        )) THEN
            RAISE EXCEPTION 'More words have arrived.' USING ERRCODE = 'SW409';
        END IF;
    END LOOP;
END $$;

-- As before, and the words go with the agent and with the space.
DO $$
DECLARE
    place record;
    body text;
BEGIN
    FOR place IN SELECT * FROM (VALUES
        ('sapwood.erase_agent', 'DELETE FROM sapwood.snapshots WHERE space = p_space AND agent = p_agent;',
         'DELETE FROM sapwood.live_words WHERE space = p_space AND agent = p_agent;'),
        ('sapwood.clear_space', 'DELETE FROM sapwood.gaps WHERE space = p_space;',
         'DELETE FROM sapwood.live_words WHERE space = p_space;')
    ) AS known (function, before, added) LOOP
        body := pg_get_functiondef(place.function::regproc);
        IF position(place.before in body) = 0 THEN
            RAISE EXCEPTION 'The function % is not the one of the migrations before.', place.function;
        END IF;
        EXECUTE replace(body, place.before, place.added || '
    ' || place.before);
    END LOOP;
END $$;

-- Roles that may append may store and end words, and roles that may read events may read them.
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT DISTINCT privilege_type AS privilege,
            CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS grantee
        FROM pg_class, aclexplode(relacl)
        WHERE (pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT')
            OR (pg_class.oid = 'sapwood.events'::regclass AND privilege_type = 'SELECT')
    LOOP
        EXECUTE format(
            CASE given.privilege WHEN 'SELECT' THEN 'GRANT SELECT ON sapwood.live_words TO %s'
            ELSE 'GRANT SELECT, INSERT, UPDATE, DELETE ON sapwood.live_words TO %s' END,
            given.grantee);
    END LOOP;
END $$;

-- A reader that is kept to one space is kept to it here too.
DO $$
BEGIN
    IF EXISTS (
        SELECT FROM pg_policies
        WHERE schemaname = 'sapwood' AND tablename = 'events' AND policyname = 'own_space'
    ) THEN
        CREATE POLICY own_space ON sapwood.live_words AS RESTRICTIVE TO sapwood_reader
        USING (space = current_setting('sapwood.space', true));
    END IF;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (11, '0011_live_words.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 11;
-- oldest: 7
-- The index has other terms than before, so it is made again of the events, in the background. Until
-- that is done, a search finds what was reached, and what is newest. The table stays as it is:
-- programs of earlier versions continue with it, and what they index is found by most words.
TRUNCATE sapwood.search;
DELETE FROM sapwood.searchable;

-- A search reads the list of rows that are not yet sorted into the index, once for each word, so it
-- has to stay short: 256 kB for each part instead of 4 MB.
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'sapwood.search_terms'::regclass
    LOOP
        EXECUTE format('ALTER INDEX %s SET (gin_pending_list_limit = 256)', part);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (12, '0012_search_terms.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 12;
-- oldest: 7
-- The index of words and its cursors leave the write-ahead log: they are made of the events, and were
-- nearly half of what a turn wrote there. After a crash of the server both are empty, and the index is
-- made again in the background, as after this migration. A standby has it after it was promoted.
TRUNCATE sapwood.search, sapwood.searchable;

DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'sapwood.search'::regclass
    LOOP
        EXECUTE format('ALTER TABLE %s SET UNLOGGED', part);
    END LOOP;
END $$;

ALTER TABLE sapwood.searchable SET UNLOGGED;
INSERT INTO sapwood.migrations (number, name) VALUES (13, '0013_unlogged_search.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 13;
-- oldest: 7
-- What events are about, for search by meaning: a signature of 32 bytes for each event with words, in
-- rows of many events. The rows of a space have no gaps between them. They are made of the events by a
-- search, if the extra is installed, and are deleted when something of the space is erased. Encrypted
-- spaces have none. Not in the write-ahead log, as the index of words.
CREATE UNLOGGED TABLE sapwood.meanings (
    space          text COLLATE "C" NOT NULL,
    first_tx       xid8 NOT NULL, -- the places of the first and of the last event that was read
    first_position bigint NOT NULL,
    last_tx        xid8 NOT NULL,
    last_position  bigint NOT NULL,
    agents         text[] COLLATE "C" NOT NULL, -- of the events that have a signature
    versions       bigint[] NOT NULL,
    times          bigint[] NOT NULL,
    signatures     bytea NOT NULL,
    PRIMARY KEY (space, last_tx, last_position)
);

-- Samples of what users have are not kept for the planner.
ALTER TABLE sapwood.meanings ALTER COLUMN agents SET STATISTICS 0;
ALTER TABLE sapwood.meanings ALTER COLUMN signatures SET STATISTICS 0;

-- As before, and the signatures of the whole space go: a row has those of many agents.
DO $$
DECLARE
    place record;
    body text;
BEGIN
    FOR place IN SELECT * FROM (VALUES
        ('sapwood.erase_agent', 'DELETE FROM sapwood.snapshots WHERE space = p_space AND agent = p_agent;'),
        ('sapwood.rewrite_event', 'DELETE FROM sapwood.snapshots WHERE space = p_space AND agent = p_agent;'),
        ('sapwood.clear_space', 'DELETE FROM sapwood.gaps WHERE space = p_space;')
    ) AS known (function, before) LOOP
        body := pg_get_functiondef(place.function::regproc);
        IF position(place.before in body) = 0 THEN
            RAISE EXCEPTION 'The function % is not the one of the migrations before.', place.function;
        END IF;
        EXECUTE replace(body, place.before, 'DELETE FROM sapwood.meanings WHERE space = p_space;
    ' || place.before);
    END LOOP;
END $$;

-- Roles that may append may store signatures.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT ON sapwood.meanings TO %s', writer);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (14, '0014_meanings.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 14;
-- oldest: 7
-- Spaces that are moved between databases. A space without a row is served here.
--
-- leaving    it is copied to another database, and still served here
-- stopped    nobody may change it here until `until`; after that the next change sets `leaving`
-- moved      another database has it
-- arriving   it is copied to this database, and not served here yet
--
-- The change from stopped to moved decides who owns the space. Triggers hold programs of earlier
-- versions to it too. The mover sets `sapwood.move` to the id of its move.
CREATE TABLE sapwood.moves (
    space    text COLLATE "C" PRIMARY KEY,
    id       text COLLATE "C" NOT NULL,
    state    text COLLATE "C" NOT NULL CHECK (state IN ('leaving', 'stopped', 'moved', 'arriving')),
    cell     text COLLATE "C" NOT NULL DEFAULT '', -- where it is, in the words of the router
    peer     text COLLATE "C" NOT NULL DEFAULT '', -- which database it goes to
    until    timestamptz,
    tx       xid8 NOT NULL DEFAULT '0',            -- the place of the last event that has arrived
    position bigint NOT NULL DEFAULT 0,
    since    timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE sapwood.moves ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON sapwood.moves USING (true) WITH CHECK (true);

-- Whoever changes a space has the shared lock until the end of its transaction; the mover takes the
-- other one to stop the space, so it waits for changes that have passed the check.
CREATE FUNCTION sapwood.resume_space(p_space text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE sapwood.moves SET state = 'leaving', until = NULL
    WHERE space = p_space AND state = 'stopped' AND until <= clock_timestamp()
$$;

CREATE FUNCTION sapwood.require_here(p_space text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    known record;
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1398106214, hashtext(p_space));
    SELECT id, state, cell, until INTO known FROM sapwood.moves WHERE space = p_space;
    IF NOT FOUND OR known.state = 'leaving'
        OR known.id = coalesce(current_setting('sapwood.move', true), '')
    THEN
        RETURN;
    ELSIF known.state = 'moved' THEN
        RAISE EXCEPTION 'The space was moved.'
            USING ERRCODE = 'SW421', DETAIL = p_space, HINT = known.cell;
    ELSIF known.state = 'stopped' AND known.until <= clock_timestamp() THEN
        PERFORM sapwood.resume_space(p_space);
        RETURN;
    END IF;
    RAISE EXCEPTION 'The space is being moved.' USING ERRCODE = 'SW503', DETAIL = p_space;
END $$;

CREATE FUNCTION sapwood.check_place() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        PERFORM sapwood.require_here(OLD.space);
        RETURN OLD;
    END IF;
    PERFORM sapwood.require_here(NEW.space);
    RETURN NEW;
END $$;

CREATE TRIGGER check_place BEFORE INSERT OR UPDATE ON sapwood.agents
FOR EACH ROW EXECUTE FUNCTION sapwood.check_place();
CREATE TRIGGER check_place BEFORE INSERT OR UPDATE ON sapwood.live_words
FOR EACH ROW EXECUTE FUNCTION sapwood.check_place();
CREATE TRIGGER check_place BEFORE INSERT OR UPDATE ON sapwood.holds
FOR EACH ROW EXECUTE FUNCTION sapwood.check_place();
CREATE TRIGGER check_place BEFORE INSERT OR UPDATE ON sapwood.tokens
FOR EACH ROW EXECUTE FUNCTION sapwood.check_place();
-- Expired tokens of all spaces are deleted together.
CREATE TRIGGER check_place_of_revoked BEFORE DELETE ON sapwood.tokens
FOR EACH ROW WHEN (OLD.expires = 0 OR OLD.expires > extract(epoch FROM clock_timestamp()))
EXECUTE FUNCTION sapwood.check_place();

-- An erasure would change what was copied already, so it waits for the end of the move.
CREATE FUNCTION sapwood.check_unmoved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM sapwood.require_here(NEW.space);
    IF EXISTS (
        SELECT FROM sapwood.moves WHERE space = NEW.space
            AND id <> coalesce(current_setting('sapwood.move', true), '')
    ) THEN
        RAISE EXCEPTION 'The space is being moved.' USING ERRCODE = 'SW503', DETAIL = NEW.space;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER check_unmoved BEFORE INSERT ON sapwood.erasures
FOR EACH ROW EXECUTE FUNCTION sapwood.check_unmoved();

-- As before, and the rows of a space go after it was moved, or if it does not arrive.
CREATE OR REPLACE FUNCTION sapwood.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND sapwood.is_erasing() THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND sapwood.is_erasing() THEN
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        IF EXISTS (
            SELECT FROM sapwood.moves
            WHERE space = OLD.space AND id = current_setting('sapwood.move', true)
                AND state IN ('moved', 'arriving')
        ) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'Table % is append-only: what was recorded is kept for ever.', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

-- Roles that may append may read where spaces are.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT ON sapwood.moves TO %s', writer);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (15, '0015_moves.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 15;
-- oldest: 7
-- Receipts of commands with an id that Sapwood made up are deleted after a time. Nobody but the process
-- that made it up repeats such an id. Ids of clients, imports, files and turns have other forms.
ALTER TABLE sapwood.receipts ADD COLUMN at timestamptz NOT NULL DEFAULT now();
CREATE INDEX receipts_at ON sapwood.receipts USING brin (at);

-- As before, and receipts go when they have expired: never on the day on which they were stored.
CREATE OR REPLACE FUNCTION sapwood.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND sapwood.is_erasing() THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND sapwood.is_erasing() THEN
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        IF TG_TABLE_NAME LIKE 'receipts%' THEN
            IF current_setting('sapwood.expiring', true) = 'on'
                AND OLD.at < now() - interval '1 day'
            THEN
                RETURN OLD;
            END IF;
        END IF;
        IF EXISTS (
            SELECT FROM sapwood.moves
            WHERE space = OLD.space AND id = current_setting('sapwood.move', true)
                AND state IN ('moved', 'arriving')
        ) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'Table % is append-only: what was recorded is kept for ever.', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

-- Deletes some of the receipts that have expired; returns how many. Those of a space that moves
-- stay, because both databases must have the same ones, and no move begins meanwhile.
CREATE FUNCTION sapwood.expire_receipts(p_days double precision, p_limit integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone bigint;
BEGIN
    LOCK TABLE sapwood.moves IN SHARE MODE;
    PERFORM set_config('sapwood.expiring', 'on', true);
    DELETE FROM sapwood.receipts AS old USING (
        SELECT space, command FROM sapwood.receipts AS each
        WHERE at < now() - make_interval(secs => greatest(p_days, 1) * 86400)
            AND command ~ '^[0-9a-f]{24}$'
            AND NOT EXISTS (SELECT FROM sapwood.moves WHERE moves.space = each.space)
        LIMIT p_limit
    ) AS found
    WHERE old.space = found.space AND old.command = found.command;
    GET DIAGNOSTICS gone = ROW_COUNT;
    PERFORM set_config('sapwood.expiring', '', true);
    RETURN gone;
END $$;
REVOKE EXECUTE ON FUNCTION sapwood.expire_receipts FROM PUBLIC;

-- By default a table is vacuumed when a fifth of it has changed: with a million agents, too late.
ALTER TABLE sapwood.agents
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE sapwood.live_words
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'sapwood.receipts'::regclass LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_vacuum_scale_factor = 0.02)', part);
    END LOOP;
END $$;

-- Roles that may append may have receipts expire.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION sapwood.expire_receipts TO %s', writer);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (16, '0016_expiry.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 16;
-- oldest: 7
-- What an update of an agent's row cost most: columns that the server computed from the facts, and a
-- look at the table of moves.
--
-- Programs of this version give the columns themselves. Those of earlier versions do not; all of
-- them set `created`, which never changes, and programs of this version do not set it. So an update
-- of `created`, and any new row, still computes them.
ALTER TABLE sapwood.agents
    ALTER COLUMN working DROP EXPRESSION,
    ALTER COLUMN folder DROP EXPRESSION,
    ALTER COLUMN hour DROP EXPRESSION;

CREATE FUNCTION sapwood.list_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.working := NEW.status = 'running' AND strpos(NEW.facts, '"working":true') > 0;
    NEW.folder := substring(NEW.facts from '"folder":"((?:[^"\\]|\\.)*)"');
    NEW.hour := substring(NEW.facts from '"updated":(\d+)')::bigint / 3600000000;
    RETURN NEW;
END $$;

CREATE TRIGGER list_agent BEFORE INSERT OR UPDATE OF created ON sapwood.agents
FOR EACH ROW EXECUTE FUNCTION sapwood.list_agent();

-- As `sapwood.append`, which programs of earlier versions call, and with these columns.
DO $$
DECLARE
    place record;
    body text := pg_get_functiondef('sapwood.append'::regproc);
BEGIN
    FOR place IN SELECT * FROM (VALUES
        ('FUNCTION sapwood.append(', 'FUNCTION sapwood.append_listed('),
        ('a_created text, ', 'a_created text, a_working text, a_folder text, a_hour text, '),
        ('createds  bigint[] := string_to_array(a_created, mark);',
         'createds  bigint[] := string_to_array(a_created, mark);
    workings  text[]   := string_to_array(a_working, mark);
    folders   text[]   := string_to_array(a_folder, mark);
    hours     text[]   := string_to_array(a_hour, mark);'),
        ('status = statuses[i], created = createds[i]',
         'status = statuses[i], working = workings[i]::boolean,
                folder = nullif(folders[i], ''''), hour = nullif(hours[i], '''')::bigint')
    ) AS known (before, after) LOOP
        IF position(place.before in body) = 0 THEN
            RAISE EXCEPTION 'The function sapwood.append is not the one of the migrations before.';
        END IF;
        body := replace(body, place.before, place.after);
    END LOOP;
    EXECUTE body;
END $$;

-- Until the first move of a space, a commit does not look for its space in the table of moves. The
-- sequence has a last value while no space was ever moved from or to this database. Whoever begins
-- a move takes it away first, for all sessions at once, and nobody gives it back. A commit has the
-- shared lock when it looks, and a move takes the other lock before it stops the space, so it waits
-- for commits that saw the value. Where the value was lost, the table is looked at.
CREATE SEQUENCE sapwood.unmoved;

CREATE FUNCTION sapwood.begin_moves() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM setval('sapwood.unmoved', 1, false);
    RETURN NULL;
END $$;

CREATE TRIGGER begin_moves BEFORE INSERT ON sapwood.moves
FOR EACH STATEMENT EXECUTE FUNCTION sapwood.begin_moves();
ALTER TABLE sapwood.moves ENABLE ALWAYS TRIGGER begin_moves;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM sapwood.moves) THEN
        PERFORM nextval('sapwood.unmoved');
    END IF;
END $$;

CREATE OR REPLACE TRIGGER check_place BEFORE INSERT OR UPDATE ON sapwood.agents
FOR EACH ROW WHEN (
    CASE WHEN pg_advisory_xact_lock_shared(1398106214, hashtext(NEW.space)) IS NULL THEN true
    ELSE pg_sequence_last_value('sapwood.unmoved'::regclass) IS NULL END
)
EXECUTE FUNCTION sapwood.check_place();

-- Roles that may append may see whether spaces were moved.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT ON SEQUENCE sapwood.unmoved TO %s', writer);
    END LOOP;
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (17, '0017_listed.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 17;
-- oldest: 7
-- A commit holds only for the agent that its program knows. The id of an erased agent may be used
-- again, and the new agent may be at the version that the program expects. `created` tells them
-- apart, because it never changes. It is 0 where it is not known: in a program that cannot read the
-- first event of an agent.
DO $$
DECLARE
    before text := 'AND known.version = expecteds[i];';
    body text := pg_get_functiondef('sapwood.append_listed'::regproc);
BEGIN
    IF position(before in body) = 0 THEN
        RAISE EXCEPTION 'The function sapwood.append_listed is not the one of the migrations before.';
    END IF;
    EXECUTE replace(
        body, before, 'AND known.version = expecteds[i]
                AND (createds[i] = 0 OR known.created IN (0, createds[i]));'
    );
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (18, '0018_created.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 18;
-- oldest: 7
-- Erasures are apart from each other: each has agents and long texts of its own, whatever another
-- one that is not finished names. An id can be erased again while an earlier erasure still has to
-- delete what is outside of the database, and two that share a text both look for it at their end.
ALTER TABLE sapwood.erasing DROP CONSTRAINT erasing_pkey, ADD PRIMARY KEY (erasure, space, agent);
DROP INDEX sapwood.erasing_by_erasure;
CREATE INDEX erasing_by_agent ON sapwood.erasing (space, agent);
ALTER TABLE sapwood.orphans DROP CONSTRAINT orphans_pkey, ADD PRIMARY KEY (erasure, space, hash);

DO $$
DECLARE
    place record;
    body text;
BEGIN
    FOR place IN SELECT * FROM (VALUES
        ('sapwood.erase_agent', 'SET deleted = true, outside = p_outside
    WHERE space', 'SET deleted = true, outside = p_outside
    WHERE erasure = p_erasure AND space'),
        ('sapwood.erase_contents', 'WHERE orphan.space = p_space AND',
         'WHERE orphan.erasure = p_erasure AND orphan.space = p_space AND'),
        ('sapwood.erase_contents', 'DELETE FROM sapwood.orphans WHERE space = p_space;',
         'DELETE FROM sapwood.orphans WHERE erasure = p_erasure AND space = p_space;')
    ) AS known (function, before, after) LOOP
        body := pg_get_functiondef(place.function::regproc);
        IF position(place.before in body) = 0 THEN
            RAISE EXCEPTION 'The function % is not the one of the migrations before.', place.function;
        END IF;
        EXECUTE replace(body, place.before, place.after);
    END LOOP;
END $$;

-- Deletes what a space has beside its agents. If somebody has begun anew in the space, this is
-- theirs: then only the texts of what was erased go. The first lock is the one that every new agent
-- shares until the end of its transaction.
CREATE OR REPLACE FUNCTION sapwood.clear_space(p_erasure text, p_space text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1398106213, hashtext(p_space));
    IF EXISTS (SELECT FROM sapwood.agents WHERE space = p_space) THEN
        PERFORM sapwood.erase_contents(p_erasure, p_space);
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(1398106212, hashtext(p_space));
    PERFORM set_config('sapwood.erasure', p_erasure, true);
    DELETE FROM sapwood.receipts WHERE space = p_space;
    DELETE FROM sapwood.contents AS content WHERE space = p_space AND NOT EXISTS (
        SELECT FROM sapwood.events AS event
        WHERE event.space = p_space AND event.contents IS NOT NULL
            AND sapwood.hashes(event.contents) @> ARRAY[content.hash]
    );
    DELETE FROM sapwood.space_keys WHERE space = p_space;
    DELETE FROM sapwood.cursor_places WHERE space = p_space;
    DELETE FROM sapwood.live_words WHERE space = p_space;
    DELETE FROM sapwood.meanings WHERE space = p_space;
    DELETE FROM sapwood.gaps WHERE space = p_space;
    DELETE FROM sapwood.orphans WHERE space = p_space;
    DELETE FROM sapwood.searchable WHERE space = p_space;
    PERFORM set_config('sapwood.erasure', '', true);
END $$;
INSERT INTO sapwood.migrations (number, name) VALUES (19, '0019_erasures_apart.sql');
UPDATE sapwood.migrations SET oldest = 7 WHERE number = 19;
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'ada', '1', 'turn.started', '{"parent":null,"prompt":[{"type":"text","text":"needle 1"}]}', NULL, '1750000000000001', 'human', 'command 1');
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'ada', '2', 'turn.started', '{"parent":null,"prompt":[{"text":{"$content":"b6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07"},"type":"text"}]}', E'\\xb6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07', '1750000000000002', 'human', 'command 1');
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'bob', '1', 'turn.started', '{"parent":null,"prompt":[{"type":"text","text":"needle 2"}]}', NULL, '1750000000000001', 'human', 'command 2');
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'bob', '2', 'turn.started', '{"parent":null,"prompt":[{"text":{"$content":"b6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07"},"type":"text"}]}', E'\\xb6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07', '1750000000000002', 'human', 'command 2');
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'ada', '3', 'turn.started', '{"parent":null,"prompt":[{"type":"text","text":"needle 3"}]}', NULL, '1750000000000003', 'human', 'command 3');
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'ada', '4', 'turn.started', '{"parent":null,"prompt":[{"text":{"$content":"b6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07"},"type":"text"}]}', E'\\xb6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07', '1750000000000004', 'human', 'command 3');
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'bob', '3', 'turn.started', '{"parent":null,"prompt":[{"type":"text","text":"needle 3"}]}', NULL, '1750000000000003', 'human', 'command 3');
INSERT INTO sapwood.events (space, agent, version, kind, data, contents, at, actor, command) VALUES ('local', 'bob', '4', 'turn.started', '{"parent":null,"prompt":[{"text":{"$content":"b6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07"},"type":"text"}]}', E'\\xb6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07', '1750000000000004', 'human', 'command 3');
INSERT INTO sapwood.contents (space, hash, data) VALUES ('local', E'\\xb6be5b7f0ac56ce13304b637eda01a7b331b772b7cf49702bb587bd6422d6f07', E'\\x41206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e2041206c6f6e6720746578742c2073746f726564206f6e63652e20');
INSERT INTO sapwood.receipts (space, command, data, at) VALUES ('local', 'command 1', '{"command":"command 1","says":"Did 1.","events":[["ada",1],["ada",2]]}', '2026-11-20 01:33:06.250741+00');
INSERT INTO sapwood.receipts (space, command, data, at) VALUES ('local', 'command 2', '{"command":"command 2","says":"Did 2.","events":[["bob",1],["bob",2]]}', '2026-11-20 01:33:06.260268+00');
INSERT INTO sapwood.receipts (space, command, data, at) VALUES ('local', 'command 3', '{"command":"command 3","says":"Did 3.","events":[["ada",3],["ada",4],["bob",3],["bob",4]]}', '2026-11-20 01:33:07.075329+00');
INSERT INTO sapwood.snapshots (space, agent, schema, version, data) VALUES ('local', 'ada', '1', '2', E'\\x00ff');
INSERT INTO sapwood.agents (space, agent, version, facts, name, parent, status, created, working, folder, hour) VALUES ('local', 'ada', '4', '{"agent":"ada","version":4,"name":"ada!","created":3}', 'ada!', NULL, 'running', '3', 'false', NULL, NULL);
INSERT INTO sapwood.agents (space, agent, version, facts, name, parent, status, created, working, folder, hour) VALUES ('local', 'bob', '4', '{"agent":"bob","version":4,"name":"bob!","created":3}', 'bob!', NULL, 'running', '3', 'false', NULL, NULL);
INSERT INTO sapwood.search (space, agent, version, part, at, terms) VALUES ('local', 'ada', '1', '0', '1750000000000001', '''1'' ''needl'' ''§a8fab6a0d8218e61dd723a38'' ''§§71d52ef83993439136e0179a''');
INSERT INTO sapwood.search (space, agent, version, part, at, terms) VALUES ('local', 'ada', '2', '0', '1750000000000002', '''a'' ''long'' ''once'' ''stor'' ''text'' ''§a8fab6a0d8218e61dd723a38'' ''§§71d52ef83993439136e0179a''');
INSERT INTO sapwood.search (space, agent, version, part, at, terms) VALUES ('local', 'bob', '1', '0', '1750000000000001', '''2'' ''needl'' ''§0655c89506c6ada593695a43'' ''§§71d52ef83993439136e0179a''');
INSERT INTO sapwood.search (space, agent, version, part, at, terms) VALUES ('local', 'bob', '2', '0', '1750000000000002', '''a'' ''long'' ''once'' ''stor'' ''text'' ''§0655c89506c6ada593695a43'' ''§§71d52ef83993439136e0179a''');

INSERT INTO sapwood.searchable (space, tx, position)
SELECT space, tx, position FROM sapwood.events ORDER BY position OFFSET 3 LIMIT 1;
