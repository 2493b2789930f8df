// transpose_16.S: rows become columns, elements of 16 bits.
#include "../kernel/worker.inc"
#define FAMILY "../transpose/transpose.def"
#include "../kernel/fields.inc"

#define NAME   transpose_f16
#define FIELDS transpose
#include "transpose_16.inc"

#define NAME   transpose_16
#define FIELDS transpose
#include "transpose_16.inc"
