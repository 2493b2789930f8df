// copy_list_64: the k-th run of dst = the k-th run of src, words, all runs at a multiple of 8 bytes.
#include "copy_list.inc"

COPY_LIST_64 copy_list_64
