#!/bin/bash
# Weights that `superstep models -o` wrote, read with --weights, leave every byte of the machine as the seeded ones do; so do those of
# --write-weights, and those of another seed do not.
#
#   NETWORKS        default "efficientnet-b0 efficientnet-b0-g16 resnet-50"
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build
unset SUPERSTEP_CACHE
export XDG_CACHE_HOME="$tmp/cache"

# digest OPTIONS...: of a run of $net. Pictures are not resized: how is usual depends on whose weights they are.
digest() {
    "$superstep" run "$net" --resolution 64 --no-resize --json --quiet "$@" >"$tmp/answer" && number "$tmp/answer" .digest
}

for net in ${NETWORKS:-efficientnet-b0 efficientnet-b0-g16 resnet-50}; do
    "$superstep" models "$net" --resolution 64 -o "$tmp/models" 2>/dev/null || exit 2
    seeded=$(digest --write-weights "$tmp/run")
    again=$(digest) file=$(digest --weights "$tmp/models") other=$(digest --seed 2)
    if [ -n "$seeded" ] && [ "$seeded" = "$again" ] && [ "$seeded" = "$file" ] && [ "$seeded" != "$other" ] &&
        cmp -s "$tmp/models" "$tmp/run"; then
        echo "$net: $seeded, seeded, from the cache and from a file"
    else
        fail "$net: seeded '$seeded', from the cache '$again', from a file '$file', another seed '$other', or the files differ"
    fi
done
finish
