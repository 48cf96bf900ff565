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
