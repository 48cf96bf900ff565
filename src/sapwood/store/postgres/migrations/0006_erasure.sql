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
