// copy_list_16: the k-th run of dst = the k-th run of src, elements of 16 bits.
#include "copy_list.inc"

COPY_LIST_16 copy_list_16
