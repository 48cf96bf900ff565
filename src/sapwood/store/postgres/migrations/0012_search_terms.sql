-- oldest: 7
-- The index has other terms than before, so it is made again of the events, in the background. Until
-- that is done, a search finds what was reached, and what is newest. The table stays as it is:
-- programs of earlier versions continue with it, and what they index is found by most words.
TRUNCATE sapwood.search;
DELETE FROM sapwood.searchable;
