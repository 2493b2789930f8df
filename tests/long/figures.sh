#!/bin/bash
# What the pages say of whole networks is what comes out: every command of tests/long/long_figures.txt.
# WRITE=1 puts into the pages what came out.
#
#   SUPERSTEP=FILE  the program (default: build/superstep, built first)
. "$(dirname "$0")/common.sh"
build
tests/run_figures.sh ${WRITE:+--write} "$superstep" tests/long/long_figures.txt || failed=1
finish
