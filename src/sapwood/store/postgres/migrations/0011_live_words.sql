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
