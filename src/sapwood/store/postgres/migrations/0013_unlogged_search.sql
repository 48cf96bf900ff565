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
