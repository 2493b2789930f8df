// dw.S: depthwise convolutions.
#include "../kernel/worker.inc"
#define FAMILY "../depthwise/depthwise.def"
#include "../kernel/fields.inc"

#define NAME   dw3_f16
#define FIELDS dw
#define KERNEL 3
#define STRIDE 1
#define MIXED  1
#include "dw.inc"

#define NAME   dw3s2_f16
#define FIELDS dw
#define KERNEL 3
#define STRIDE 2
#define MIXED  1
#include "dw.inc"

#define NAME   dw5_f16
#define FIELDS dw
#define KERNEL 5
#define STRIDE 1
#define MIXED  1
#include "dw.inc"

#define NAME   dw5s2_f16
#define FIELDS dw
#define KERNEL 5
#define STRIDE 2
#define MIXED  1
#include "dw.inc"

// The sliding unit alone.
#define NAME   dw3_slide_f16
#define FIELDS dw
#define KERNEL 3
#define STRIDE 1
#define MIXED  0
#include "dw.inc"

#define NAME   dw3s2_slide_f16
#define FIELDS dw
#define KERNEL 3
#define STRIDE 2
#define MIXED  0
#include "dw.inc"

#define NAME   dw5_slide_f16
#define FIELDS dw
#define KERNEL 5
#define STRIDE 1
#define MIXED  0
#include "dw.inc"

#define NAME   dw5s2_slide_f16
#define FIELDS dw
#define KERNEL 5
#define STRIDE 2
#define MIXED  0
#include "dw.inc"
