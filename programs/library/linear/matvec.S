// matvec.S: a matrix times a vector.
#include "../kernel/worker.inc"
#define FAMILY "../linear/dot.def"
#include "../kernel/fields.inc"

#define NAME   matvec_f16
#define FIELDS matvec
#define BITS   16
#define MAC    f16v4cmac
#include "matvec.inc"

#define NAME   matvec_f32
#define FIELDS matvec
#define BITS   32
#define MAC    f32v2mac
#include "matvec.inc"
