-- What metrics count of an append-only table without reading it whole: the few entries that tell of trouble.
create index entries_of_trouble on entries (kind, hold_id, attempt) where kind in ('presumed', 'late', 'expire');
