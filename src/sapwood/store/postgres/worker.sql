-- Roles with few rights for PostgreSQL. Optional: who owns the tables can do everything.
--
--     sapwood migrate --print-grants | psql team
--     psql --command='GRANT sapwood_worker TO somebody' team
--
-- `sapwood_worker` is enough for programs and workers: it reads and appends, and can neither change
-- nor delete what was recorded. `sapwood_eraser` may erase in addition, and set legal holds. Run it
-- again after a migration.

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

GRANT USAGE ON SCHEMA sapwood TO sapwood_worker;
GRANT SELECT ON ALL TABLES IN SCHEMA sapwood TO sapwood_worker;
GRANT USAGE ON SEQUENCE sapwood.positions TO sapwood_worker;
GRANT INSERT (space, agent, version, kind, data, contents, at, actor, command)
    ON sapwood.events TO sapwood_worker;
GRANT INSERT ON sapwood.contents, sapwood.receipts, sapwood.snapshots, sapwood.search
    TO sapwood_worker;
GRANT INSERT, UPDATE ON sapwood.agents, sapwood.searchable TO sapwood_worker;

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
