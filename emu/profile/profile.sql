-- profile.sql - the tables of a profile, version 5 (docs/profile.md). A program that reads a profile compares its tables with these.
-- Cycles are those of the tile clock, words have 4 bytes. Ids of names are only good within one file. Packed: zstd of u32, little-endian, each less
-- the one before it, which is 0 before the first. Chips have their numbers in the system, from 0; a program of one chip is on chip 0.

CREATE TABLE meta ( -- what ran, and how it ended
    key TEXT PRIMARY KEY NOT NULL,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE machine ( -- every field of the machine
    field TEXT PRIMARY KEY NOT NULL,
    value ANY NOT NULL,
    unit TEXT NOT NULL,     -- '-': none
    mark TEXT NOT NULL      -- H vendor, M third party, A assumed, S set by a user
) STRICT, WITHOUT ROWID;

CREATE TABLE options ( -- what the command line said, in the order of the table of options
    name TEXT NOT NULL,
    value TEXT NOT NULL     -- '': an option without one
) STRICT;

CREATE TABLE names ( -- texts that other tables name by their id
    id INTEGER PRIMARY KEY NOT NULL,
    text TEXT NOT NULL
) STRICT;

CREATE TABLE chips ( -- of the system, where each stands, and what it runs
    chip INTEGER PRIMARY KEY NOT NULL,
    class INTEGER NOT NULL,             -- chips of a class run the same program: it is the stage
    stage INTEGER NOT NULL,             -- chip of the image
    replica INTEGER NOT NULL,
    rung INTEGER NOT NULL,              -- of the ladder
    side INTEGER NOT NULL
) STRICT;

CREATE TABLE outer_syncs ( -- that joined several chips, in the order of their releases
    outer_sync INTEGER PRIMARY KEY NOT NULL,
    scope TEXT NOT NULL,                -- 'replica', 'pod'
    zone INTEGER NOT NULL,              -- of the sync
    first_chip INTEGER NOT NULL,        -- the chips that it joined follow each other
    chips INTEGER NOT NULL,
    release INTEGER NOT NULL,           -- cycle in which all went on
    first_arrival INTEGER NOT NULL,     -- cycles in which the first and the last chip were complete
    last_arrival INTEGER NOT NULL,
    last_chip INTEGER NOT NULL,         -- the lowest of those that came last
    packets INTEGER NOT NULL,           -- sent between these chips up to their next such sync
    bytes INTEGER NOT NULL,
    arrived INTEGER NOT NULL            -- cycle in which the last of them was in memory; 0: there was none
) STRICT;

CREATE TABLE link_loads ( -- what the links of one place carried after an outer sync, in one direction
    outer_sync INTEGER NOT NULL,
    kind TEXT NOT NULL,                 -- 'pair', 'cross', 'up', 'down', 'gateway up', 'gateway down'
    chip INTEGER NOT NULL,              -- whose links they are; of a gateway the first of its machine
    bytes INTEGER NOT NULL,
    busy_cycles INTEGER NOT NULL,       -- that this takes at their full rate
    PRIMARY KEY (outer_sync, kind, chip)
) STRICT, WITHOUT ROWID;

CREATE TABLE tiles (
    chip INTEGER NOT NULL,
    tile INTEGER NOT NULL,              -- logical number
    sync_group INTEGER NOT NULL,
    row INTEGER NOT NULL,               -- where it lies on the chip, in tiles
    column INTEGER NOT NULL,
    used_bytes INTEGER NOT NULL,        -- that have a purpose; the rest of the memory is gaps and free
    exchange INTEGER NOT NULL,          -- cycles and words of all its supersteps
    compute INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    words_in INTEGER NOT NULL,
    words_out INTEGER NOT NULL,
    messages_in INTEGER NOT NULL,       -- runs of words that lie one after the other at both ends
    messages_out INTEGER NOT NULL,      -- one to many tiles counts once
    link INTEGER NOT NULL,              -- cycles in which it waited for words of other chips
    PRIMARY KEY (chip, tile)
) STRICT;

CREATE TABLE tile_bytes ( -- what the memory of a tile is for
    chip INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    category TEXT NOT NULL,             -- 'variable', 'exchange code', ...
    bytes INTEGER NOT NULL,
    PRIMARY KEY (chip, tile, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE tile_maps ( -- every range of bytes of a tile that has a purpose; `superstep report --tile` prints one
    chip INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    ranges INTEGER NOT NULL,
    map BLOB NOT NULL, -- packed: [4][ranges] address, bytes, category, owner; the last two are ids of names
    PRIMARY KEY (chip, tile)
) STRICT;

CREATE TABLE owners ( -- whose bytes they are, on all tiles of a chip: variables, codelets, operations
    chip INTEGER NOT NULL,
    owner INTEGER NOT NULL,             -- a name
    category INTEGER NOT NULL,          -- a name
    scope INTEGER NOT NULL,             -- the part of the program that it belongs to
    tiles INTEGER NOT NULL,             -- that hold some of its bytes
    bytes INTEGER NOT NULL,
    most_bytes INTEGER NOT NULL,        -- on one tile
    most_tile INTEGER NOT NULL,         -- the first of those that hold so many
    PRIMARY KEY (chip, owner, category)
) STRICT, WITHOUT ROWID;

CREATE TABLE scopes ( -- parts of the program, such as blocks and layers of a network
    scope INTEGER PRIMARY KEY NOT NULL, -- 0: the program itself
    parent INTEGER NOT NULL,
    path TEXT NOT NULL
) STRICT;

CREATE TABLE program ( -- what sync group 0 does, in order; empty where the order depends on data, or the program was not compiled here
    chip INTEGER NOT NULL,
    position INTEGER NOT NULL,
    step INTEGER NOT NULL,              -- of the compiled program: a repeated one has several positions
    superstep INTEGER NOT NULL,         -- number of the superstep in its group
    kind TEXT NOT NULL,                 -- 'compute', 'exchange', 'host', 'chips'
    name INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    fullest_tile INTEGER NOT NULL,      -- meanwhile, with the bytes in use there, code included
    fullest_bytes INTEGER NOT NULL,
    PRIMARY KEY (chip, position)
) STRICT;

CREATE TABLE tile_variables ( -- objects in tile memory with their lifetimes, which may share bytes; empty as program is
    chip INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    variables INTEGER NOT NULL,
    objects BLOB NOT NULL, -- packed: [5][variables] address, bytes, category, owner, lifetime; lifetime 0: all the time
    PRIMARY KEY (chip, tile)
) STRICT;

CREATE TABLE lifetimes ( -- in use in the steps first .. last
    chip INTEGER NOT NULL,
    lifetime INTEGER NOT NULL,
    first_step INTEGER NOT NULL,
    last_step INTEGER NOT NULL
) STRICT;

CREATE TABLE tile_needs ( -- what a compiled program needs of each tile
    chip INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    need_bytes INTEGER NOT NULL,        -- more than the memory: it does not fit
    code_bytes INTEGER NOT NULL,        -- of them in region 0 for code; more than region 0: it does not fit
    peak_step INTEGER NOT NULL,         -- of the program, at which most bytes are in use
    peak_bytes INTEGER NOT NULL,        -- then
    PRIMARY KEY (chip, tile)
) STRICT;

CREATE TABLE peak_owners ( -- what is in use on the five tiles that need most, each at its peak_step
    chip INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    owner INTEGER NOT NULL,             -- a name
    category INTEGER NOT NULL,          -- a name
    bytes INTEGER NOT NULL
) STRICT;

CREATE TABLE advice ( -- of a program that does not fit: what to change, the most useful first
    chip INTEGER NOT NULL,              -- of the first replica
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (chip, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE layers ( -- of a network, in its order; the last has what belongs to no layer
    layer INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    block TEXT NOT NULL,                -- '': none
    operation TEXT NOT NULL,            -- 'conv+norm+swish'
    supersteps INTEGER NOT NULL,        -- in which it computes
    cycles INTEGER NOT NULL,            -- exchange + compute + sync
    exchange INTEGER NOT NULL,
    compute INTEGER NOT NULL,
    sync INTEGER NOT NULL,
    imbalance INTEGER NOT NULL,         -- the part of compute above the mean of all tiles
    macs INTEGER NOT NULL,              -- multiply-adds
    bound INTEGER NOT NULL,             -- cycles that no schedule could go below
    predicted INTEGER NOT NULL,         -- cycles by the planner; 0: it was not asked
    max_tile_bytes INTEGER NOT NULL,    -- in use on the fullest tile while the layer runs
    held_bytes INTEGER NOT NULL,        -- on all tiles, all the time: code and parameters
    held_tile_bytes INTEGER NOT NULL    -- on the tile that holds most
) STRICT;

CREATE TABLE supersteps ( -- of all sync groups, chip by chip, in the order in which they ended
    id INTEGER PRIMARY KEY NOT NULL,
    chip INTEGER NOT NULL,
    sync_group INTEGER NOT NULL,
    number INTEGER NOT NULL,            -- in its group, from 0
    starts INTEGER NOT NULL,            -- cycle of the release that began it
    ends INTEGER NOT NULL,
    tiles INTEGER NOT NULL,
    joins TEXT NOT NULL,                -- whom the sync that ends it joins: 'group', 'chip', 'replica', 'pod', 'host'
    host INTEGER NOT NULL,              -- its cycles: host + exchange + link + compute + wait + sync + outer
    exchange INTEGER NOT NULL,
    link INTEGER NOT NULL,              -- what waiting for words of other chips adds
    compute INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    sync INTEGER NOT NULL,
    outer INTEGER NOT NULL,             -- instead of sync, where it joins several chips: waiting for them, too
    imbalance INTEGER NOT NULL,         -- the part of compute above mean_compute
    largest_compute INTEGER NOT NULL,   -- w of the BSP model: the most that one tile computes
    mean_compute INTEGER NOT NULL,      -- of the tiles of the group
    h_words INTEGER NOT NULL,           -- h of the BSP model: the most that one tile sends or receives
    words_in INTEGER NOT NULL,          -- of all tiles
    words_out INTEGER NOT NULL,         -- the same, a word to many tiles counted once
    messages_in INTEGER NOT NULL,
    messages_out INTEGER NOT NULL,
    exchange_id INTEGER,                -- who sent to whom: exchanges.exchange; NULL: nobody
    slowest_tile INTEGER NOT NULL,
    operation INTEGER NOT NULL,         -- a name: what begins it
    scope TEXT NOT NULL,                -- path of the part of the program that the operation belongs to
    layer INTEGER                       -- in which it computes; NULL: no network, or none
) STRICT;

CREATE TABLE superstep_tiles ( -- what every tile of a superstep did
    superstep INTEGER PRIMARY KEY NOT NULL, -- id in supersteps
    cycles BLOB NOT NULL -- packed: [8][tiles] exchange, compute, wait, words in, words out, messages in, messages out, link; tiles of the group, ascending
) STRICT;

CREATE TABLE exchanges ( -- who sent to whom; supersteps that exchange the same have one together
    exchange INTEGER PRIMARY KEY NOT NULL,
    pairs INTEGER NOT NULL,
    words INTEGER NOT NULL,             -- received by all tiles
    messages INTEGER NOT NULL,
    list BLOB NOT NULL -- packed: [4][pairs] receiver, sender, words, messages; by receiver, then by sender
) STRICT;

CREATE TABLE saturations ( -- supersteps that left results beyond the range of f16
    chip INTEGER NOT NULL,
    superstep INTEGER NOT NULL,         -- number in sync group 0
    layer INTEGER,                      -- NULL: no network, or none
    tiles INTEGER NOT NULL,             -- in which that was seen for the first time
    numbers INTEGER,                    -- results of its codelets, and how many of them are at the end of the range or no
    saturated INTEGER                   -- numbers; NULL without --ranges
) STRICT;

CREATE TABLE streams ( -- between host and tiles
    chip INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    name TEXT NOT NULL,
    direction TEXT NOT NULL,            -- 'to_tiles', 'to_host'
    transfers INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    packets INTEGER NOT NULL,
    busy_cycles INTEGER NOT NULL,
    waiting_cycles INTEGER NOT NULL,
    starved_cycles INTEGER NOT NULL,
    latency_cycles_max INTEGER NOT NULL,
    PRIMARY KEY (chip, stream)
) STRICT;

CREATE TABLE transfers ( -- of streams, in the order of their ends
    chip INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    tile INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    issued INTEGER NOT NULL,            -- cycle of the request
    arrived INTEGER NOT NULL            -- cycle of the last arrival, or of the confirmation
) STRICT;

CREATE TABLE faults ( -- why the run stopped, and where numbers went beyond their range
    kind TEXT NOT NULL,                 -- 'fault', 'overflow', 'stop'
    text TEXT NOT NULL,
    chip INTEGER,                       -- NULL where it has no meaning, like the following
    tile INTEGER,
    superstep INTEGER,
    cycle INTEGER
) STRICT;
