// pool_f16: sums over the positions of each block.
#define NAME     pool_f16
#define SECTION  .text.pool_f16
#include "pool.inc"
