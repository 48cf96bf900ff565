-- Optional: a role for those who work with the log and must not own it.
--
--     psql --file=worker.sql team && psql --command='GRANT sapwood_worker TO somebody' team
--
-- The owner of the tables can take their guards away; a worker can read and append and nothing
-- else. Run it again after a migration.

DO $$
BEGIN
    CREATE ROLE sapwood_worker NOLOGIN;
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
