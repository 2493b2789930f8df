// conv_first.S: the first layer of a network.
#include "../kernel/worker.inc"
#define FAMILY "../first/first.def"
#include "../kernel/fields.inc"

// What matmul.inc calls the patches and the results.
.equ conv_first__in, conv_first__patches
.equ conv_first__out, conv_first__y

#define NAME   conv_first_f16
#define FIELDS conv_first
#define UNITS  16
#define MATRIX f16v4hihov4amp
#include "conv_first.inc"

#define NAME   conv_first_f16_f32
#define FIELDS conv_first
#define UNITS  8
#define MATRIX f16v4sisoamp
#include "conv_first.inc"
