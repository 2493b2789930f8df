#!/bin/bash
# Fields of kernels are checked by the C compiler (programs/library/kernel/vertex_fields.h): good.c compiles, everything beside
# it does not, and fails in the lines with the fields. Environment: CC, CPPFLAGS.
folder=tests/library/bad_fields bad=0 n=0

compile() { ${CC:-cc} ${CPPFLAGS:--I. -D_GNU_SOURCE} -std=gnu11 -fsyntax-only "$1" 2>&1; }

compile $folder/good.c || { echo "$folder/good.c: does not compile"; exit 1; }
for f in "$folder"/*.c; do
    [ "$f" = $folder/good.c ] && continue
    n=$((n + 1))
    said=$(compile "$f") && { echo "$f: compiles"; bad=1; continue; }
    grep -q "$f:1[0-9]:" <<<"$said" || { echo "$f: fails for another reason"; echo "$said" | head -3; bad=1; }
done
[ $n -gt 0 ] && [ $bad = 0 ] && echo "$n mistakes in fields do not compile"
