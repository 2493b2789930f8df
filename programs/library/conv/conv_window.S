// conv_window.S: products of matrices, the left one seen through windows.
#include "../kernel/worker.inc"
#define FAMILY "../conv/conv.def"
#include "../kernel/fields.inc"

#define NAME       conv_window_f16
#define FIELDS     conv_window
#define ACCUMULATE 0
#define WINDOW     1
#define UNITS      16
#define MATRIX     f16v4hihov4amp
#include "../matmul/matmul.inc"

#define NAME       conv_window_f16_f32
#define FIELDS     conv_window
#define ACCUMULATE 0
#define WINDOW     1
#define UNITS      8
#define MATRIX     f16v4sisoamp
#include "../matmul/matmul.inc"
