/* sweep_axes.h - what a sweep varies: axes with their choices, from --vary or from a file, and the
 * points that they make.
 */
#ifndef MODELS_SWEEP_AXES_H
#define MODELS_SWEEP_AXES_H

#include "emu/cli/options.h"
#include "models/ask/model_request.h"

struct image;
struct manifest;

enum axis_kind {
    AXIS_FIELD,     /* of the machine, or sram */
    AXIS_OPTION,    /* of compiler or network; dim.NAME is a size of an ONNX file */
    AXIS_PARAMETER, /* of a program */
    AXIS_FIXED,     /* a parameter of a program that has one value at all points */
    AXIS_KIND_COUNT
};

struct sweep_axis {
    char *name; /* owned: as users write it */
    enum axis_kind kind;
    const struct option_row *option; /* AXIS_OPTION; borrowed */
    const struct arch_field *field;  /* AXIS_FIELD; of sram mem_bytes; borrowed */
    char **choice;                   /* owned, entries too: values as they were written */
    uint32_t choices;
};

struct sweep_axes {
    struct sweep_axis *axis; /* owned */
    uint32_t axes, points;
    uint32_t *choice; /* owned: [points][axes], where each point lies; points count from 0 */
};

enum { SWEEP_POINTS_MAX = 100000 };

/* What is swept, where it is no network and no program that is compiled (sweep_thing.h). */
struct sweep_thing {
    struct manifest *manifest; /* owned: as its file is, on the machine of the file; or NULL */
    struct image *image;       /* owned; or NULL */
};

/* Reads --vary and --points of a request. Several --vary give all combinations, in which the last
 * axis changes first. Errors: EMU_USAGE names what is no name, a value that is given twice, or
 * fields that no run of a sweep reads; EMU_BAD_FILE for lines of a file; EMU_IO, EMU_NO_MEMORY.
 * Free with sweep_axes_free, also on failure. */
enum emu_status sweep_axes_read(const struct request *q, const struct sweep_thing *t,
                                struct sweep_axes *out) EMU_MUST_CHECK;
/* Adds the parameters that are not varied as axes with one choice: what -D says, else the default
 * on the machine that nothing is varied of, so that all points ask about the same problem. Those of
 * a compiled program, or those of a manifest `m` that has been read for that machine. EMU_USAGE for
 * values that are none, EMU_NO_MEMORY. */
enum emu_status sweep_axes_fix(const struct request *q, const struct sweep_thing *t,
                               const struct manifest *m, struct sweep_axes *out) EMU_MUST_CHECK;
void sweep_axes_free(struct sweep_axes *a);

/* The value of an axis at a point. */
const char *sweep_choice(const struct sweep_axes *a, uint32_t point, uint32_t axis);
/* "tiles=736 sram=256K": what is varied; "nothing varied" without that. */
void sweep_point_text(const struct sweep_axes *a, uint32_t point, char *out, size_t bytes);
const char *axis_kind_name(enum axis_kind k);

#endif
