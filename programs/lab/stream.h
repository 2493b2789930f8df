// stream.h - what producers and consumers of stream.bsp.json agree on. SHARE consumers live on one producer; the producers are
// the tiles after the consumers. WORDS for each consumer and block.
#include <superstep/bsp.h>

#define CONSUMERS   (PRODUCERS * SHARE)
#define PRODUCER(c) (CONSUMERS + (c) / SHARE)
#define BLOCK       (SHARE * WORDS)
