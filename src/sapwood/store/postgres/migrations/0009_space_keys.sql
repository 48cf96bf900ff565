-- oldest: 7
-- The keys of encrypted spaces, wrapped by a master key that is not in the database. A space is
-- encrypted from its first agent on, or not at all. `id` names the key, `master` the master key.
--
-- Programs of the schema before know no keys. They work in all other spaces; in an encrypted one the
-- triggers refuse what they would store.
CREATE TABLE sapwood.space_keys (
    space   text COLLATE "C" PRIMARY KEY,
    id      text COLLATE "C" NOT NULL,
    master  text COLLATE "C" NOT NULL,
    wrapped bytea NOT NULL
);

ALTER TABLE sapwood.space_keys ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON sapwood.space_keys USING (true) WITH CHECK (true);

-- A key is stored only while the space has no agent. The lock waits for transactions that start one.
CREATE FUNCTION sapwood.check_new_key() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(1398106213, hashtext(NEW.space));
    IF EXISTS (SELECT FROM sapwood.agents WHERE space = NEW.space) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER check_new BEFORE INSERT ON sapwood.space_keys
FOR EACH ROW EXECUTE FUNCTION sapwood.check_new_key();

-- A new agent is sealed with the key of its space, or not at all if the space has none. In the facts
-- a quote inside of a text is escaped, so these characters can only be the one entry of the metadata.
CREATE FUNCTION sapwood.check_agent_key() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1398106213, hashtext(NEW.space));
    IF coalesce((SELECT id FROM sapwood.space_keys WHERE space = NEW.space), '')
        <> coalesce(substring(NEW.facts from '\["\$sealed","\$1([0-9a-f]{16})'), '')
    THEN
        RAISE EXCEPTION 'The space % is encrypted with another key, or not encrypted.', NEW.space
            USING ERRCODE = 'SW423';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER check_key BEFORE INSERT ON sapwood.agents
FOR EACH ROW EXECUTE FUNCTION sapwood.check_agent_key();

CREATE FUNCTION sapwood.refuse_plain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The space % is encrypted.', NEW.space USING ERRCODE = 'SW423';
END $$;

CREATE TRIGGER refuse_plain BEFORE UPDATE ON sapwood.agents
FOR EACH ROW WHEN (
    strpos(OLD.facts, '["$sealed","$1') > 0 AND strpos(NEW.facts, '["$sealed","$1') = 0
)
EXECUTE FUNCTION sapwood.refuse_plain();

-- As before, and the key goes with the last agent.
DO $$
DECLARE
    body text := pg_get_functiondef('sapwood.clear_space'::regproc);
    before text := 'DELETE FROM sapwood.gaps WHERE space = p_space;';
BEGIN
    IF position(before in body) = 0 THEN
        RAISE EXCEPTION 'The function sapwood.clear_space is not the one of the sixth migration.';
    END IF;
    EXECUTE replace(body, before, '
        PERFORM pg_advisory_xact_lock(1398106213, hashtext(p_space));
        DELETE FROM sapwood.space_keys WHERE space = p_space
            AND NOT EXISTS (SELECT FROM sapwood.agents WHERE space = p_space);
        ' || before);
END $$;

-- Roles that may append may read keys and store new ones.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT SELECT, INSERT ON sapwood.space_keys TO %s', writer);
    END LOOP;
END $$;
