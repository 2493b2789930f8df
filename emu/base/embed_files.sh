#!/bin/sh
# Writes the assembly of the table embedded_files (emu/base/embedded.h) to standard output.
#   embed_files.sh [NAME=]FILE ...    NAME, by default the path itself, is what embedded_find() looks for
printf '    .section .data.rel.ro, "aw"\n    .balign 8\n    .globl embedded_files\n    .hidden embedded_files\nembedded_files:\n'
n=0
for f; do
    printf '    .quad name%d, file%d, size%d\n' $n $n $n
    n=$((n + 1))
done
printf '    .quad 0, 0, 0\n    .section .rodata\n'
n=0
for f; do
    printf 'name%d: .asciz "%s"\n    .balign 16\nfile%d: .incbin "%s"\n    .set size%d, . - file%d\n    .byte 0\n' \
        $n "${f%%=*}" $n "${f#*=}" $n $n
    n=$((n + 1))
done
printf '    .section .note.GNU-stack, "", @progbits\n'
