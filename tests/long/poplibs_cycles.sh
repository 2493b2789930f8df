#!/bin/bash
# Our codelets take no more cycles than PopLibs' for the same job, both executed here (tests/library/poplibs_rows.def).
#
#   SUPERSTEP_POPLIBS=DIR  a checkout of PopLibs; without it the test is skipped
. "$(dirname "$0")/common.sh"
[ -n "${SUPERSTEP_POPLIBS:-}" ] && [ -d "$SUPERSTEP_POPLIBS/lib" ] || skip "SUPERSTEP_POPLIBS does not name a checkout of PopLibs"
test=build/obj/release/tests/library/test_poplibs_cycles
make -s -j2 $test || exit 2
$test
