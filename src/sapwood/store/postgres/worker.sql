-- Roles with few rights for PostgreSQL. Optional: who owns the tables can do everything.
--
--     sapwood migrate --print-grants | psql team
--     psql --command='GRANT sapwood_worker TO somebody' team
--
-- `sapwood_worker` is enough for programs and workers: it reads and appends, and can neither change
-- nor delete what was recorded. `sapwood_eraser` may erase in addition, and set legal holds.
-- `sapwood_server` may do what a worker may, and keep the tokens of servers. `sapwood_reader` only
-- reads, and only the space that is set: SET sapwood.space = 'tenant-7'. A server with a login of that
-- role reads through it (`sapwood serve --reader-database`). Run it again after a migration.

DO $$
BEGIN
    CREATE ROLE sapwood_worker NOLOGIN;
EXCEPTION WHEN duplicate_object THEN
    NULL;
END $$;

DO $$
BEGIN
    CREATE ROLE sapwood_eraser NOLOGIN;
EXCEPTION WHEN duplicate_object THEN
    NULL;
END $$;

DO $$
BEGIN
    CREATE ROLE sapwood_server NOLOGIN;
EXCEPTION WHEN duplicate_object THEN
    NULL;
END $$;

DO $$
BEGIN
    CREATE ROLE sapwood_reader NOLOGIN;
EXCEPTION WHEN duplicate_object THEN
    NULL;
END $$;

GRANT USAGE ON SCHEMA sapwood TO sapwood_worker;
GRANT SELECT ON ALL TABLES IN SCHEMA sapwood TO sapwood_worker;
GRANT USAGE ON SEQUENCE sapwood.positions TO sapwood_worker;
GRANT SELECT ON SEQUENCE sapwood.unmoved TO sapwood_worker;
GRANT INSERT (space, agent, version, kind, data, contents, at, actor, command)
    ON sapwood.events TO sapwood_worker;
GRANT INSERT ON sapwood.contents, sapwood.receipts, sapwood.snapshots, sapwood.search,
    sapwood.space_keys, sapwood.cursor_places, sapwood.meanings TO sapwood_worker;
GRANT INSERT, UPDATE ON sapwood.agents, sapwood.searchable TO sapwood_worker;
GRANT INSERT, UPDATE, DELETE ON sapwood.live_words TO sapwood_worker;
GRANT EXECUTE ON FUNCTION sapwood.expire_receipts TO sapwood_worker;

REVOKE SELECT ON sapwood.tokens FROM sapwood_worker;

GRANT sapwood_worker TO sapwood_server;
GRANT SELECT, INSERT, DELETE ON sapwood.tokens TO sapwood_server;
GRANT SELECT, INSERT, UPDATE, DELETE ON sapwood.request_limits TO sapwood_server;

-- A reader gets rights on the tables as a whole, not on their partitions, which have no policies.
GRANT USAGE ON SCHEMA sapwood TO sapwood_reader;
GRANT SELECT ON sapwood.migrations, sapwood.epochs, sapwood.old_cursors TO sapwood_reader;
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'events', 'contents', 'receipts', 'snapshots', 'agents', 'agent_keys', 'gaps', 'erasures',
        'holds', 'live_words'
    ] LOOP
        EXECUTE format('GRANT SELECT ON sapwood.%I TO sapwood_reader', name);
        EXECUTE format('DROP POLICY IF EXISTS own_space ON sapwood.%I', name);
        EXECUTE format(
            'CREATE POLICY own_space ON sapwood.%I AS RESTRICTIVE TO sapwood_reader
             USING (space = current_setting(''sapwood.space'', true))', name);
    END LOOP;
END $$;

GRANT sapwood_worker TO sapwood_eraser;
GRANT INSERT, UPDATE ON sapwood.holds TO sapwood_eraser;
DO $$
DECLARE
    name regprocedure;
BEGIN
    FOR name IN
        SELECT oid FROM pg_proc
        WHERE pronamespace = 'sapwood'::regnamespace AND prosecdef
            AND prorettype <> 'trigger'::regtype
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO sapwood_eraser', name);
    END LOOP;
END $$;

-- The tables of the durable engine, if `sapwood migrate` or a worker has created them.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_namespace WHERE nspname = 'sapwood_engine') THEN
        GRANT USAGE ON SCHEMA sapwood_engine TO sapwood_worker;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sapwood_engine
            TO sapwood_worker;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA sapwood_engine TO sapwood_worker;
        GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA sapwood_engine TO sapwood_worker;
    END IF;
END $$;
