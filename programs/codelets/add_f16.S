// add_f16: out = a add b.
#include "binary.inc"

BINARY add_f16, 4, "f16v4add $a4:5, $a0:1, $a2:3"
