// stats_f16: sums and sums of squares over the positions of each block.
#define NAME     stats_f16
#define SECTION  .text.stats_f16
#define STATS
#include "../pool/pool.inc"
