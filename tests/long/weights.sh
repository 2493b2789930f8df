#!/bin/bash
# Weights that `superstep models -o` wrote, read with --weights, leave every byte of the machine as the seeded ones do; so do those of
# --write-weights, and those of another seed do not.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
make -s -j2 build/superstep || exit 2
export XDG_CACHE_HOME="$tmp/cache"
failed=0

digest() { # options: the digest of a run of $net
    build/superstep run "$net" --resolution 64 --json --quiet "$@" | sed -n 's/^  "digest": "\(.*\)",*$/\1/p'
}

for net in efficientnet-b0 efficientnet-b0-g16 resnet-50; do
    build/superstep models "$net" --resolution 64 -o "$tmp/models" 2>/dev/null || exit 2
    seeded=$(digest --write-weights "$tmp/run")
    again=$(digest) file=$(digest --weights "$tmp/models") other=$(digest --seed 2)
    if [ -n "$seeded" ] && [ "$seeded" = "$again" ] && [ "$seeded" = "$file" ] && [ "$seeded" != "$other" ] &&
        cmp -s "$tmp/models" "$tmp/run"; then
        echo "$net: $seeded, seeded, from the cache and from a file"
    else
        echo "$net: seeded '$seeded', from the cache '$again', from a file '$file', another seed '$other', or the files differ"
        failed=1
    fi
done
exit $failed
