// dot.S: products of two vectors.
#include "../kernel/worker.inc"
#define FAMILY "../linear/dot.def"
#include "../kernel/fields.inc"

#define NAME   dot_f16
#define FIELDS dot
#define BITS   16
#define MAC    f16v4cmac
#include "dot.inc"

#define NAME   dot_f32
#define FIELDS dot
#define BITS   32
#define MAC    f32v2mac
#include "dot.inc"
