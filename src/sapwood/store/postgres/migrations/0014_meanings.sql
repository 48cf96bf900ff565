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
