-- oldest: 7
-- What an update of an agent's row cost most: columns that the server computed from the facts, and a
-- look at the table of moves.
--
-- Programs of this version give the columns themselves. Those of earlier versions do not; all of
-- them set `created`, which never changes, and programs of this version do not set it. So an update
-- of `created`, and any new row, still computes them.
ALTER TABLE sapwood.agents
    ALTER COLUMN working DROP EXPRESSION,
    ALTER COLUMN folder DROP EXPRESSION,
    ALTER COLUMN hour DROP EXPRESSION;

CREATE FUNCTION sapwood.list_agent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.working := NEW.status = 'running' AND strpos(NEW.facts, '"working":true') > 0;
    NEW.folder := substring(NEW.facts from '"folder":"((?:[^"\\]|\\.)*)"');
    NEW.hour := substring(NEW.facts from '"updated":(\d+)')::bigint / 3600000000;
    RETURN NEW;
END $$;

CREATE TRIGGER list_agent BEFORE INSERT OR UPDATE OF created ON sapwood.agents
FOR EACH ROW EXECUTE FUNCTION sapwood.list_agent();

-- As `sapwood.append`, which programs of earlier versions call, and with these columns.
DO $$
DECLARE
    place record;
    body text := pg_get_functiondef('sapwood.append'::regproc);
BEGIN
    FOR place IN SELECT * FROM (VALUES
        ('FUNCTION sapwood.append(', 'FUNCTION sapwood.append_listed('),
        ('a_created text, ', 'a_created text, a_working text, a_folder text, a_hour text, '),
        ('createds  bigint[] := string_to_array(a_created, mark);',
         'createds  bigint[] := string_to_array(a_created, mark);
    workings  text[]   := string_to_array(a_working, mark);
    folders   text[]   := string_to_array(a_folder, mark);
    hours     text[]   := string_to_array(a_hour, mark);'),
        ('status = statuses[i], created = createds[i]',
         'status = statuses[i], working = workings[i]::boolean,
                folder = nullif(folders[i], ''''), hour = nullif(hours[i], '''')::bigint')
    ) AS known (before, after) LOOP
        IF position(place.before in body) = 0 THEN
            RAISE EXCEPTION 'The function sapwood.append is not the one of the migrations before.';
        END IF;
        body := replace(body, place.before, place.after);
    END LOOP;
    EXECUTE body;
END $$;

-- Until the first move of a space, a commit does not look for its space in the table of moves. The
-- sequence has a last value while no space was ever moved from or to this database. Whoever begins
-- a move takes it away first, for all sessions at once, and nobody gives it back. A commit has the
-- shared lock when it looks, and a move takes the other lock before it stops the space, so it waits
-- for commits that saw the value. Where the value was lost, the table is looked at.
CREATE SEQUENCE sapwood.unmoved;

CREATE FUNCTION sapwood.begin_moves() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM setval('sapwood.unmoved', 1, false);
    RETURN NULL;
END $$;

CREATE TRIGGER begin_moves BEFORE INSERT ON sapwood.moves
FOR EACH STATEMENT EXECUTE FUNCTION sapwood.begin_moves();
ALTER TABLE sapwood.moves ENABLE ALWAYS TRIGGER begin_moves;

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM sapwood.moves) THEN
        PERFORM nextval('sapwood.unmoved');
    END IF;
END $$;

CREATE OR REPLACE TRIGGER check_place BEFORE INSERT OR UPDATE ON sapwood.agents
FOR EACH ROW WHEN (
    CASE WHEN pg_advisory_xact_lock_shared(1398106214, hashtext(NEW.space)) IS NULL THEN true
    ELSE pg_sequence_last_value('sapwood.unmoved'::regclass) IS NULL END
)
EXECUTE FUNCTION sapwood.check_place();

-- Roles that may append may see whether spaces were moved.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT ON SEQUENCE sapwood.unmoved TO %s', writer);
    END LOOP;
END $$;
