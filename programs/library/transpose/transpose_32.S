// transpose_32.S: rows become columns, elements of 32 bits.
#include "../kernel/worker.inc"
#define FAMILY "../transpose/transpose.def"
#include "../kernel/fields.inc"

#define NAME   transpose_32
#define FIELDS transpose
#include "transpose_32.inc"

#define NAME   transpose_f32
#define FIELDS transpose
#include "transpose_32.inc"
