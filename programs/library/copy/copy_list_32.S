// copy_list_32: the k-th run of dst = the k-th run of src, elements of 32 bits.
#include "copy_list.inc"

COPY_LIST_32 copy_list_32
