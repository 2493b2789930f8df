// pool.S: sums over positions.
#include "../kernel/worker.inc"
#define FAMILY "../pool/pool.def"
#include "../kernel/fields.inc"

#define NAME   pool_f16
#define FIELDS pool
#include "pool.inc"

#define NAME   stats_f16
#define FIELDS stats
#define STATS
#include "pool.inc"
