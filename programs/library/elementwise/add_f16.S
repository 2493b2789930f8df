// add_f16: out = a add b.
#include "binary.inc"

BINARY add_f16, 4, f16v4add, f16v2add
