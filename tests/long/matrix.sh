#!/bin/bash
# Every class of input x output x report x engine x state of the cache x verb on small ONNX files (tests/matrix): 16,000 commands, none of
# which may crash, lose a file, end with another status than it should, or say another number than a plain run without the cache.
#
#   PART=N          of 48 networks so many for each row of the tables (default: all)
#   SEED=N          which ones
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build build/obj/release/matrix/run_matrix
build/obj/release/matrix/run_matrix "$superstep" "${PART:-48}" "${SEED:-1}"
