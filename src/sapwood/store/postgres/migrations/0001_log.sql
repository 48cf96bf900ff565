-- The log, and what is kept beside it.
--
-- Every key starts with the space. Text compares by its bytes (COLLATE "C"): a prefix is a range,
-- and no update of the system's collations can break an index.

CREATE SEQUENCE sapwood.positions CACHE 64;

CREATE TABLE sapwood.events (
    space    text COLLATE "C" NOT NULL,
    agent    text COLLATE "C" NOT NULL,
    version  bigint NOT NULL,
    kind     text COLLATE "C" NOT NULL,
    data     text COLLATE "C" NOT NULL, -- not jsonb: its exact bytes matter
    contents bytea,                     -- hashes of the texts kept apart, 32 bytes each
    at       bigint NOT NULL,
    actor    text COLLATE "C" NOT NULL,
    command  text COLLATE "C" NOT NULL,
    position bigint NOT NULL DEFAULT nextval('sapwood.positions'),
    tx       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    PRIMARY KEY (space, agent, version)
) PARTITION BY HASH (space, agent);

CREATE INDEX events_tail ON sapwood.events (space, tx, position);

CREATE TABLE sapwood.contents (
    space text COLLATE "C" NOT NULL,
    hash  bytea NOT NULL,
    data  bytea NOT NULL,
    PRIMARY KEY (space, hash)
) PARTITION BY HASH (space, hash);

CREATE TABLE sapwood.receipts (
    space   text COLLATE "C" NOT NULL,
    command text COLLATE "C" NOT NULL,
    data    text COLLATE "C" NOT NULL,
    PRIMARY KEY (space, command)
) PARTITION BY HASH (space, command);

CREATE TABLE sapwood.snapshots (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    schema  text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (space, agent, schema, version)
) PARTITION BY HASH (space, agent);

-- Whoever appends updates the agent's row here, so writers of one agent wait for each other and
-- for nobody else. Not partitioned: an UPDATE would lock every partition. No index holds what
-- changes at every commit and each page keeps room, so that an update writes no index.
CREATE TABLE sapwood.agents (
    space   text COLLATE "C" NOT NULL,
    agent   text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    facts   text COLLATE "C" NOT NULL,
    name    text COLLATE "C" NOT NULL,
    parent  text COLLATE "C",
    status  text COLLATE "C" NOT NULL,
    created bigint NOT NULL,
    PRIMARY KEY (space, agent)
) WITH (fillfactor = 70);

CREATE INDEX agents_by_age ON sapwood.agents (space, created, agent);
CREATE INDEX agents_by_status ON sapwood.agents (space, status, created, agent);
CREATE INDEX agents_by_parent ON sapwood.agents (space, parent, created, agent);
CREATE INDEX agents_by_name ON sapwood.agents (space, name, created, agent);

-- Which server numbers the transactions, and what to add to its numbers: a dump restored on
-- another server meets numbers that start anew, and the order of events must not.
CREATE TABLE sapwood.epochs (
    number integer PRIMARY KEY,
    server text NOT NULL,
    shift  bigint NOT NULL,
    since  timestamptz NOT NULL DEFAULT now()
);

-- Long texts compress faster with lz4, where the server was built with it.
DO $$
BEGIN
    ALTER TABLE sapwood.contents ALTER COLUMN data SET COMPRESSION lz4;
    ALTER TABLE sapwood.snapshots ALTER COLUMN data SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
    NULL;
END $$;

DO $$
BEGIN
    FOR i IN 0..31 LOOP
        EXECUTE format(
            'CREATE TABLE sapwood.events_%1$s PARTITION OF sapwood.events
             FOR VALUES WITH (MODULUS 32, REMAINDER %1$s)', i);
    END LOOP;
    FOR i IN 0..15 LOOP
        EXECUTE format(
            'CREATE TABLE sapwood.contents_%1$s PARTITION OF sapwood.contents
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s);
             CREATE TABLE sapwood.receipts_%1$s PARTITION OF sapwood.receipts
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s);
             CREATE TABLE sapwood.snapshots_%1$s PARTITION OF sapwood.snapshots
             FOR VALUES WITH (MODULUS 16, REMAINDER %1$s)', i);
    END LOOP;
END $$;

-- Nobody chooses the place of an event. NOT VALID, because a restored dump brings old places:
-- only what is inserted from now on is held to it.
ALTER TABLE sapwood.events
    ADD CONSTRAINT events_tx CHECK (tx = pg_current_xact_id()) NOT VALID,
    ADD CONSTRAINT events_position CHECK (position = currval('sapwood.positions')) NOT VALID;

CREATE FUNCTION sapwood.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Table % is append-only: what was recorded is kept for ever.', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;

-- Partitions can be named like any table, and sessions that replicate skip ordinary triggers.
DO $$
DECLARE
    kept regclass;
BEGIN
    FOR kept IN
        SELECT tree.relid
        FROM unnest('{sapwood.events,sapwood.contents,sapwood.receipts}'::regclass[]) AS root,
             pg_partition_tree(root) AS tree
        ORDER BY tree.level
    LOOP
        -- Row triggers of a partitioned table reach its partitions by themselves.
        IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = kept AND tgname = 'refuse_change') THEN
            EXECUTE format('CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE ON %s
                            FOR EACH ROW EXECUTE FUNCTION sapwood.refuse()', kept);
        END IF;
        EXECUTE format('CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON %s
                        FOR EACH STATEMENT EXECUTE FUNCTION sapwood.refuse()', kept);
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER refuse_change', kept);
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER refuse_truncate', kept);
    END LOOP;
END $$;
