#!/bin/bash
# 10,000 random graphs, compiled and run with all checks on, against the interpreter: no difference in any bit; and by the timing engine:
# no difference in any cycle of any tile.
#
#   SUPERSTEP_SEED=N,COUNT  other seeds
. "$(dirname "$0")/common.sh"
test=build/obj/release/tests/compiler/test_random_graph
make -s -j2 $test || exit 2
SUPERSTEP_LONG=1 $test
