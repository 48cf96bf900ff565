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
