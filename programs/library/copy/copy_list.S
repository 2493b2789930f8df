// copy_list.S: many runs of words and halves; of bytes: copy_list_8.S.
#include "copy_list.inc"

COPY_LIST_64 copy_list_64
COPY_LIST_32 copy_list_32
COPY_LIST_16 copy_list_16
