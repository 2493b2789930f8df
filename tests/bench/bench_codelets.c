/* bench_codelets.c - one table over all codelets: cycles by formula and as executed, per element,
 * bytes of code. Every call is compared with the reference by the rig.
 *
 * Codelets whose time depends on where their edges lie have two lines: edges next to each other,
 * and each in memory elements of its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/fixtures/kernel_fixture.h"

struct shape {
    const char *codelet, *fields;
    uint64_t units;
};

static const struct shape shapes[] = {
#define SHAPE(codelet, fields, units) { #codelet, fields, units },
#include "tests/bench/codelet_shapes.def"
#undef SHAPE
};

enum { EDGE = 4096, RUNS = 256, RUN = 16 };

/* The shape of a codelet without one. Returns 0 if there are fields that nothing is known of. */
static int default_shape(const struct codelet *c, char *out, size_t bytes)
{
    size_t used = 0;

    out[0] = 0;
    for (unsigned i = 0; i < c->fields; i++) {
        const struct codelet_field *f = &c->field[i];
        char text[64] = "";

        if (f->kind == FIELD_U32 || f->kind == FIELD_WORDS)
            return 0;
        if (field_is_edge(f->kind))
            snprintf(text, sizeof(text), "%s=%d ", f->name, EDGE);
        else if (field_is_list(f->kind))
            snprintf(text, sizeof(text), "%s=%dx%d ", f->name, RUNS, RUN);
        else if (f->kind == FIELD_F32)
            snprintf(text, sizeof(text), "%s=0x3f800000 ", f->name);
        else if (f->kind == FIELD_F16)
            snprintf(text, sizeof(text), "%s=0x3c003c00 ", f->name);
        used += (size_t)snprintf(out + used, bytes - used, "%s", text);
    }
    return 1;
}

static void shape_error(const char *codelet, const char *fields)
{
    fprintf(stderr, "codelet_shapes.def: %s: \"%s\" does not fit its row\n", codelet, fields);
    exit(1);
}

/* Reads "field=number ..."; run: room for the lengths of lists. */
static struct codelet_case read_shape(const struct codelet *c, const char *fields,
                                      uint32_t run[CODELET_MAX_FIELDS][EDGE])
{
    static const uint32_t zeros[EDGE];
    struct codelet_case out = codelet_case(fields, 1);

    out.tame = 1;
    while (*fields) {
        char name[32], *rest;
        int length = 0, i;
        uint32_t number;

        if (sscanf(fields, " %31[^= ]=%n", name, &length) != 1 || !length)
            break;
        i = codelet_field_find(c, name);
        if (i < 0)
            shape_error(c->name, fields);
        number = (uint32_t)strtoul(fields + length, &rest, 0);
        if (field_is_list(c->field[i].kind)) {
            uint32_t elements = *rest == 'x' ? (uint32_t)strtoul(rest + 1, &rest, 10) : 0;

            if (!elements || number > EDGE)
                shape_error(c->name, fields);
            for (uint32_t k = 0; k < number; k++)
                run[i][k] = elements;
            out.run[i] = run[i];
        }
        if (c->field[i].elem == ELEM_U32 && field_is_edge(c->field[i].kind) && number <= EDGE)
            out.data[i] = zeros; /* places in other edges, which any number may lie beyond */
        if (field_is_list(c->field[i].kind) || field_is_edge(c->field[i].kind) ||
            c->field[i].kind == FIELD_WORDS)
            out.elements[i] = number;
        else
            out.value[i] = number;
        fields = rest;
    }
    return out;
}

static void print_line(struct kernel_fixture *rig, struct codelet_case *c, const char *place,
                       uint64_t units)
{
    uint64_t cycles = kernel_fixture_call(rig, c);

    for (unsigned i = 0; !units && i < rig->codelet->fields; i++) {
        if (field_is_edge(rig->codelet->field[i].kind))
            units = c->elements[i];
    }
    printf("%-20s %-5s %8llu %8llu %8.3f %6u  %s\n", rig->codelet->name, place,
           (unsigned long long)rig->formula, (unsigned long long)cycles,
           units ? (double)cycles / (double)units : 0.0, rig->code.bytes, c->what);
}

static void bench(const struct codelet *c, const char *fields, uint64_t units)
{
    static const char *const place[] = { "near", "near", "far" };
    uint32_t(*run)[EDGE] = calloc(CODELET_MAX_FIELDS, sizeof(*run));
    struct kernel_fixture *rig = kernel_fixture_new("mk2", c->name);
    struct codelet_case call = read_shape(c, fields, run);

    call.slack = 1000; /* of a supervisor codelet: the table shows both figures */
    call.layout = LAYOUT_NEAR1;
    print_line(rig, &call, c->time != TIME_FIXED ? place[call.layout] : "any", units);
    call.layout = LAYOUT_FAR;
    if (c->time != TIME_FIXED)
        print_line(rig, &call, place[call.layout], units);
    kernel_fixture_free(rig);
    free(run);
}

int main(void)
{
    printf("%-20s %-5s %8s %8s %8s %6s  %s\n", "codelet", "edges", "formula", "cycles", "per unit",
           "bytes", "shape");
    for (unsigned i = 0; i < codelet_count; i++) {
        const struct codelet *c = &codelet_table[i];
        int found = 0;

        for (size_t s = 0; s < EMU_COUNT_OF(shapes); s++) {
            if (!strcmp(shapes[s].codelet, c->name)) {
                bench(c, shapes[s].fields, shapes[s].units);
                found = 1;
            }
        }
        if (!found) {
            char fields[512];

            if (default_shape(c, fields, sizeof(fields)))
                bench(c, fields, 0);
            else
                printf("%-20s no sizes in codelet_shapes.def\n", c->name);
        }
        fflush(stdout);
    }
    return 0;
}
