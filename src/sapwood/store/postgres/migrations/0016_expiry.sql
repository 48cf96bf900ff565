-- oldest: 7
-- Receipts of commands with an id that Sapwood made up are deleted after a time. Nobody but the process
-- that made it up repeats such an id. Ids of clients, imports, files and turns have other forms.
ALTER TABLE sapwood.receipts ADD COLUMN at timestamptz NOT NULL DEFAULT now();
CREATE INDEX receipts_at ON sapwood.receipts USING brin (at);

-- As before, and receipts go when they have expired: never on the day on which they were stored.
CREATE OR REPLACE FUNCTION sapwood.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND sapwood.is_erasing() THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' AND sapwood.is_erasing() THEN
        RETURN NEW;
    ELSIF TG_OP = 'DELETE' THEN
        IF TG_TABLE_NAME LIKE 'receipts%' THEN
            IF current_setting('sapwood.expiring', true) = 'on'
                AND OLD.at < now() - interval '1 day'
            THEN
                RETURN OLD;
            END IF;
        END IF;
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

-- Deletes some of the receipts that have expired; returns how many. Those of a space that moves
-- stay, because both databases must have the same ones, and no move begins meanwhile.
CREATE FUNCTION sapwood.expire_receipts(p_days double precision, p_limit integer)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone bigint;
BEGIN
    LOCK TABLE sapwood.moves IN SHARE MODE;
    PERFORM set_config('sapwood.expiring', 'on', true);
    DELETE FROM sapwood.receipts AS old USING (
        SELECT space, command FROM sapwood.receipts AS each
        WHERE at < now() - make_interval(secs => greatest(p_days, 1) * 86400)
            AND command ~ '^[0-9a-f]{24}$'
            AND NOT EXISTS (SELECT FROM sapwood.moves WHERE moves.space = each.space)
        LIMIT p_limit
    ) AS found
    WHERE old.space = found.space AND old.command = found.command;
    GET DIAGNOSTICS gone = ROW_COUNT;
    PERFORM set_config('sapwood.expiring', '', true);
    RETURN gone;
END $$;
REVOKE EXECUTE ON FUNCTION sapwood.expire_receipts FROM PUBLIC;

-- By default a table is vacuumed when a fifth of it has changed: with a million agents, too late.
ALTER TABLE sapwood.agents
    SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
ALTER TABLE sapwood.live_words
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'sapwood.receipts'::regclass LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_vacuum_scale_factor = 0.02)', part);
    END LOOP;
END $$;

-- Roles that may append may have receipts expire.
DO $$
DECLARE
    writer text;
BEGIN
    FOR writer IN
        SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'sapwood.receipts'::regclass AND privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION sapwood.expire_receipts TO %s', writer);
    END LOOP;
END $$;
