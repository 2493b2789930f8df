#!/bin/sh
# The program alone, in an empty root with nothing but its shared libraries: it needs no file of the source tree, no compiler and no
# preprocessor. self_contained.sh PROGRAM [big]; big: the README's first run at full size.
cd "$(dirname "$0")/.." || exit 2
export OMP_WAIT_POLICY=passive
program=$1
root=$(mktemp -d) && trap 'rm -rf "$root"' EXIT && trap 'exit 130' INT TERM || exit 2
mkdir "$root/tmp"
cp "$program" "$root/superstep"
for lib in $(ldd "$program" | grep -o '/[^ ]*'); do
    mkdir -p "$root$(dirname "$lib")" && cp -L "$lib" "$root$lib"
done
PATH=$PATH:/usr/sbin # where Debian keeps chroot, which is not in every user's path
[ "$(id -u)" -eq 0 ] && enter="chroot" || enter="unshare -r chroot"
if ! $enter "$root" /superstep --help >"$root/tmp/said" 2>&1; then
    echo "cannot enter an empty root: $(head -1 "$root/tmp/said")"
    exit 1
fi

failed=0
# want STATUS TEXT ARGUMENT...: the program ends with the status, and says the text.
want() {
    status=$1 text=$2
    shift 2
    $enter "$root" /superstep "$@" >"$root/tmp/said" 2>&1
    got=$?
    if [ $got -ne "$status" ] || { [ "$text" ] && ! grep -q -e "$text" "$root/tmp/said"; }; then
        echo "superstep $*: exit $got, expected $status and '$text':"
        tail -3 "$root/tmp/said"
        failed=1
    fi
}

if [ "$2" = big ]; then
    want 0 "^491,775 cycles" run efficientnet-b4
else
    want 0 "^digest" run efficientnet-b0 --resolution 64
    want 0 "^digest" run efficientnet-b0 --resolution 64 --image models/pictures/landscape.png
    want 0 "assembly" lab
    for manifest in programs/lab/[!m]*.bsp.json; do
        grep -q '"needs_tiles": 1472' "$manifest" || want 0 "status ok" lab "$(basename "$manifest" .bsp.json)"
    done
    want 0 "cycles" run softmax -m toy4 -D n=1000
    printf 'start:\n        setzi $m0, 1 // no directive\n' >"$root/plain.S"
    printf '#define ONE 1\nsetzi $m0, ONE\n' >"$root/directives.S"
    want 0 "" asm plain.S -o plain.unit
    want 2 "directives.S: it has preprocessor directives, and no program cpp is installed" asm directives.S -o plain.unit
    [ -z "$(ls "$root/tmp" | grep superstep)" ] || { echo "files are left in /tmp"; failed=1; }
fi
[ $failed -eq 0 ] && echo "the program alone in an empty root does its work"
exit $failed
