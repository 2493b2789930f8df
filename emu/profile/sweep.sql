-- sweep.sql - the tables of a sweep, version 3 (docs/sweep.md). A program that reads or continues a sweep compares its tables with these.
-- A status of results may also be 'found': --check has found something in the run, and the message says how much.
-- All but the table work is the same however often a sweep was stopped, and however many processes it had.

CREATE TABLE meta ( -- what is swept
    key TEXT PRIMARY KEY NOT NULL,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE definition ( -- what the same command has in common; another one does not continue the sweep
    position INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,     -- as users write it: '--batch'
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE axes ( -- what is varied, in the order of the command line; the last one changes first from point to point
    axis INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,     -- 'field' of the machine, 'option', 'parameter' of a program; 'fixed': a parameter with one value at all points
    unit TEXT NOT NULL,     -- '-': none
    stage TEXT NOT NULL     -- 'compile': another value is another image, 'run': the same image runs again, 'seconds': the same cycles
) STRICT, WITHOUT ROWID;

CREATE TABLE choices ( -- the values of an axis, as they were written
    axis INTEGER NOT NULL,
    position INTEGER NOT NULL,
    value TEXT NOT NULL,
    number REAL,            -- what it is as a number; NULL: a word
    PRIMARY KEY (axis, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE points (
    point INTEGER PRIMARY KEY NOT NULL, -- from 1
    image_of INTEGER NOT NULL,          -- the first point that has the same image,
    run_of INTEGER NOT NULL             -- and the first with the same cycles; itself: it is executed
) STRICT, WITHOUT ROWID;

CREATE TABLE settings ( -- where a point lies on every axis
    point INTEGER NOT NULL,
    axis INTEGER NOT NULL,
    position INTEGER NOT NULL,          -- of its choice
    PRIMARY KEY (point, axis)
) STRICT, WITHOUT ROWID;

CREATE TABLE results ( -- of points that are done
    point INTEGER PRIMARY KEY NOT NULL,
    status TEXT NOT NULL,       -- 'ok', 'no memory', 'fault' (the machine stopped), 'refused' (there is no such program), 'failed' (it could not be run)
    message TEXT NOT NULL,      -- why, where the status is not ok
    inputs INTEGER NOT NULL,    -- that a run computes: the batch
    mem_bytes INTEGER NOT NULL, -- memory of a tile,
    tiles INTEGER NOT NULL,     -- tiles of a chip,
    chips INTEGER NOT NULL,     -- chips of the system, and
    clock_mhz INTEGER NOT NULL, -- their clock
    need_bytes INTEGER,         -- of a tile's memory, so that the program fits: in use and lost in gaps, on the tile that needs most
    fullest_tile INTEGER,       -- with most bytes in use; NULL: not compiled, since far more memory is expected than there is; then need_bytes is expected
    used_bytes INTEGER,         -- on all tiles
    cycles INTEGER,             -- of the run; NULL without one, like what follows
    exchange INTEGER,           -- parts of all supersteps, of the sync group that ends last: docs/timing.md
    link INTEGER,               -- for words of other chips
    compute INTEGER,
    imbalance INTEGER,          -- a part of compute
    wait INTEGER,               -- for other sync groups and the host
    sync INTEGER,
    outer INTEGER,              -- the same where a sync joins several chips, for which it waits
    supersteps INTEGER,
    words INTEGER,              -- that all tiles receive
    macs INTEGER,               -- multiply-adds of a network's run
    engine TEXT,                -- that ran: 'timing', 'values', 'values (cycles depend on ..)'
    seconds REAL,               -- on the chip
    inputs_per_second REAL
) STRICT, WITHOUT ROWID;

CREATE TABLE categories ( -- what memory is for, of points that were compiled
    point INTEGER NOT NULL,
    category TEXT NOT NULL,
    bytes INTEGER NOT NULL,         -- on all tiles
    fullest_bytes INTEGER NOT NULL, -- on the fullest tile
    PRIMARY KEY (point, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE work ( -- stages that were executed, again when a sweep was stopped before it had their result
    id INTEGER PRIMARY KEY NOT NULL,
    point INTEGER NOT NULL,
    stage TEXT NOT NULL,        -- 'source', 'compile', 'load' (an image of the cache), 'run'
    seconds REAL NOT NULL,      -- of a processor
    process TEXT NOT NULL       -- HOST:PID
) STRICT;
