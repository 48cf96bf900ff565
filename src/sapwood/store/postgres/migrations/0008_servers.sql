-- oldest: 7
-- What several servers share: tokens, limits of requests, and a wall between spaces.

-- Tokens of the server, as hashes. `expires` is in seconds since 1970, 0 for never.
CREATE TABLE sapwood.tokens (
    id      text COLLATE "C" PRIMARY KEY,
    hash    text COLLATE "C" NOT NULL UNIQUE,
    name    text COLLATE "C" NOT NULL,
    space   text COLLATE "C" NOT NULL,
    scopes  text[] NOT NULL,
    created bigint NOT NULL,
    expires bigint NOT NULL,
    kind    text COLLATE "C" NOT NULL
);

CREATE INDEX tokens_by_expiry ON sapwood.tokens (expires) WHERE expires > 0;

-- Servers remember tokens for some seconds. Whoever removes one tells them all at once.
CREATE FUNCTION sapwood.announce_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('sapwood', 'tokens');
    RETURN NULL;
END $$;

CREATE TRIGGER announce AFTER DELETE OR UPDATE OR TRUNCATE ON sapwood.tokens
FOR EACH STATEMENT EXECUTE FUNCTION sapwood.announce_tokens();

-- When a principal or a space will have used up what it may: GCRA, in seconds since 1970. Not in the
-- write-ahead log: after a crash of the database, all begin anew.
CREATE UNLOGGED TABLE sapwood.request_limits (
    key text COLLATE "C" PRIMARY KEY,
    due double precision NOT NULL
) WITH (fillfactor = 50);

-- Row-level security, so that a role for readers can be kept to one space: `sapwood migrate
-- --print-grants` makes that role and the policy that restricts it. Everybody else sees every row
-- that their rights let them see, as before.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'events', 'contents', 'receipts', 'snapshots', 'agents', 'agent_keys', 'search',
        'searchable', 'gaps', 'erasures', 'holds'
    ] LOOP
        EXECUTE format('ALTER TABLE sapwood.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY everybody ON sapwood.%I USING (true) WITH CHECK (true)', name);
    END LOOP;
END $$;
