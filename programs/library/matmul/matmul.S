// matmul.S: products of matrices in blocks.
#include "../kernel/worker.inc"
#define FAMILY "../matmul/matmul.def"
#include "../kernel/fields.inc"

#define NAME       matmul_f16
#define FIELDS     matmul
#define ACCUMULATE 0
#define UNITS      16
#define MATRIX     f16v4hihov4amp
#include "matmul.inc"

#define NAME       matmul_add_f16
#define FIELDS     matmul
#define ACCUMULATE 1
#define UNITS      16
#define MATRIX     f16v4hihov4amp
#include "matmul.inc"

#define NAME       matmul_f16_f32
#define FIELDS     matmul
#define ACCUMULATE 0
#define UNITS      8
#define MATRIX     f16v4sisoamp
#include "matmul.inc"

#define NAME       matmul_add_f16_f32
#define FIELDS     matmul
#define ACCUMULATE 1
#define UNITS      8
#define MATRIX     f16v4sisoamp
#include "matmul.inc"

#define NAME       matmul_f32
#define FIELDS     matmul
#define ACCUMULATE 0
#define UNITS      8
#define F32        1
#define MATRIX     f32sisoamp
#include "matmul.inc"
