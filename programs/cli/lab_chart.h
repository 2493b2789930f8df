/* lab_chart.h - a picture of a run: who sends to whom, the supersteps with their parts, and what
 * was predicted beside what was measured.
 */
#ifndef PROGRAMS_LAB_CHART_H
#define PROGRAMS_LAB_CHART_H

#include <stdint.h>

#include "emu/emu.h"

/* A bar of w + g h + l: cycles. */
struct chart_cost {
    double w, h, l;
};

/* Writes the SVG, of the first 16 chips of a system. r: with run_count_pairs() before it ran.
 * predicted, measured: NULL where the program has no lesson. EMU_IO, EMU_NO_MEMORY. */
enum emu_status lab_chart(const char *path, const char *name, const struct run *r,
                          const struct chart_cost *predicted,
                          const struct chart_cost *measured) EMU_MUST_CHECK;

#endif
