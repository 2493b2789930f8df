#!/bin/bash
# 10,000 random graphs, compiled and run with all checks on, against the interpreter: no difference in any bit.
#
#   SUPERSTEP_SEED=N,COUNT  other seeds
set -u
cd "$(dirname "$0")/../.." || exit 2
make -s -j2 build/obj/release/tests/compiler/test_random_graph || exit 2
SUPERSTEP_LONG=1 build/obj/release/tests/compiler/test_random_graph
