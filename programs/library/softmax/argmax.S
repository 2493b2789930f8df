// argmax.S: the largest of every worker's share.
#include "../kernel/worker.inc"
#define FAMILY "../softmax/softmax.def"
#include "../kernel/fields.inc"

#define NAME   argmax_f16
#define FIELDS argmax
#define BITS   16
#include "argmax.inc"

#define NAME   argmax_f32
#define FIELDS argmax
#define BITS   32
#include "argmax.inc"
