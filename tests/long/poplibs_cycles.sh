#!/bin/bash
# Our codelets take no more cycles than PopLibs' for the same job, both executed here (tests/library/poplibs_rows.def).
#
#   SUPERSTEP_POPLIBS=DIR  a checkout of PopLibs; without it the test is skipped
set -u
cd "$(dirname "$0")/../.." || exit 2
if [ -z "${SUPERSTEP_POPLIBS:-}" ] || [ ! -d "$SUPERSTEP_POPLIBS/lib" ]; then
    echo "skipped: SUPERSTEP_POPLIBS does not name a checkout of PopLibs"
    exit 0
fi
make -s build/obj/release/tests/library/test_poplibs_cycles || exit 2
exec build/obj/release/tests/library/test_poplibs_cycles
