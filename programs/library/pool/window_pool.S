// window_pool.S: maxima and means of windows.

#define FAMILY "../pool/pool.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define NAME   maxpool_f16
#define FIELDS maxpool
#include "window_pool.inc"

#define NAME   avgpool_f16
#define FIELDS avgpool
#define MEAN
#include "window_pool.inc"
