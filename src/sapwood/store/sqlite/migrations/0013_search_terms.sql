-- The word indexes have other terms than before, so they are made again of the events. Their tables
-- are dropped by `schema.py`, since their names are known only there.
DELETE FROM spaces;
DELETE FROM word_rebuilds;
UPDATE indexed SET position = 0;
