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
