#!/bin/bash
# 10,000 random operator graphs: compiled for 16 and 64 tiles, every group within its bound of the f64 reference, passes that keep the
# meaning, the same bits from one, two and three threads; every operator that the chip has was among them. Gradients of a third of them, those
# of every operator among them, in f64 along random directions first.
#
#   SUPERSTEP_SEED=N,COUNT  other seeds; of a single one the graph is printed
. "$(dirname "$0")/common.sh"
test=build/obj/release/tests/models/test_random_operators
gradients=build/obj/release/tests/models/test_gradients
make -s -j2 $test $gradients || exit 2
SUPERSTEP_LONG=1 $gradients && SUPERSTEP_LONG=1 $test
