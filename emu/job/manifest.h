/* manifest.h - a whole-machine program written by hand: a JSON file that names sources, tiles,
 * memory, streams, expectations.
 *
 *   manifest_read    JSON text to struct manifest      manifest_read.c, program_read.c,
 *                    manifest_data.c, manifest_expr.c
 *   manifest_build   assembles, places memory, makes the image      manifest_build.c,
 * manifest_source.c
 *
 * docs/lab.md describes the file. Values are written as in case files (docs/case_format.md) and
 * read by the same code; strings point into the JSON tree, which lives as long as the manifest.
 */
#ifndef EMU_MANIFEST_H
#define EMU_MANIFEST_H

#include "emu/arch/arch.h"
#include "emu/job/case_place.h"
#include "emu/job/case_value.h"
#include "emu/job/run_file.h"
#include "emu/load/image.h"

/* Tiles in the order in which they were named. */
struct tile_list {
    uint32_t *tile; /* owned */
    size_t count;
};

/* Values that may differ from tile to tile. */
struct manifest_data {
    struct case_data
        data; /* the same for all tiles, or one after the other if per_tile_count is set */
    uint32_t per_tile_count; /* elements of each tile; 0: data is for all */
    const char *expr;  /* borrowed; instead of data: element i of tile t, `elements` of them */
    uint32_t elements; /* of each tile */
};

struct manifest_memory {
    struct case_place place; /* address, where not is_fixed: where manifest_build placed it */
    struct manifest_data init;
};

struct manifest_program {
    const char **source; /* owned list of borrowed paths, relative to the manifest */
    size_t sources;
    const char *text;   /* assembly in the manifest, or NULL */
    uint32_t text_line; /* of the manifest, where it stands; 0: not known */
    const char *entry;  /* symbol */
    char **define;      /* owned list of owned "NAME=VALUE" */
    size_t defines;
    struct tile_list tiles;
    uint32_t group;
    uint32_t code_bytes;            /* kept free for code at the start of the memory */
    struct manifest_memory *memory; /* owned */
    size_t memories;
};

struct manifest_stream {
    uint32_t id, direction, depth; /* enum stream_direction */
    const char *name;              /* "" if none was given */
    const char *file;              /* relative to the manifest, or NULL */
    int repeat;
    struct manifest_data data;   /* to the tiles, where there is no file */
    struct manifest_data expect; /* from the tiles; elements 0: nothing is expected */
};

struct manifest_expect {
    struct tile_list tiles;
    const char *name; /* of a memory, or a symbol of the program */
    uint32_t from;    /* first element compared, in units of its type */
    double tolerance, relative;
    struct manifest_data value;
};

struct manifest_fault {
    int is_set;
    const char *name;        /* of enum fault */
    const char *exchange;    /* of enum exchange_fault_kind, or NULL */
    int64_t tile, superstep; /* -1: any */
};

struct manifest {
    json_t *root;    /* owned */
    char *path;      /* owned: where it was read, for messages */
    char *directory; /* owned: "" or ends with '/' */
    struct arch arch;
    char **include; /* owned list of owned paths */
    size_t includes;
    struct manifest_program *program; /* owned */
    size_t programs;
    struct manifest_stream *stream; /* owned */
    size_t streams;
    uint64_t runs; /* how often the host answers the host sync */
    uint64_t max_cycles;
    struct manifest_expect *expect; /* owned */
    size_t expects;
    struct json_range expect_cycles, expect_supersteps;
    struct manifest_fault expect_fault;
    const char *expect_digest; /* 32 hex digits, or NULL */
    const char *note;
};

/* The manifest of a source file that runs on all tiles from `main` on; of its text, where that is
 * not NULL. */
enum emu_status manifest_for_source(const char *path, const char *text,
                                    const struct manifest_options *o,
                                    struct manifest **out) EMU_MUST_CHECK;
/* A path of the manifest, relative to its file. Owned by the caller; NULL when out of memory. */
char *manifest_path(const struct manifest *m, const char *path);

/* The memory of a program by name, or NULL; and the program of a tile, or NULL. */
const struct manifest_memory *manifest_find_memory(const struct manifest_program *p,
                                                   const char *name);
const struct manifest_program *manifest_program_of(const struct manifest *m, uint32_t tile);

/* ---- program_read.c: also of a case ---- */

/* "source" or "asm", "entry" (p->entry stays, if it is there, without one) and "defines" of v. */
enum emu_status program_read_code(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, struct manifest_program *p) EMU_MUST_CHECK;
/* "memory" of v. taken: names that no memory may have, NULL at the end; or NULL. */
enum emu_status program_read_memory(const struct json_reader *r, const struct json_path *at,
                                    const json_t *v, const char *const *taken,
                                    struct manifest_program *p) EMU_MUST_CHECK;
/* Places the memories: those with a fixed address, then the others in order. at[i] receives the
 * address of memory i. Errors: of case_layout_fix(), case_layout_fit(). */
enum emu_status program_place(const struct manifest_program *p, struct case_layout *l,
                              uint32_t *at) EMU_MUST_CHECK;
void program_free(struct manifest_program *p);

/* ---- manifest_data.c ---- */

/* Whether a key names a typed value: "f32", "f32_per_tile", "f32_sequence". */
int manifest_data_key(const char *key);

/* Reads the one typed value of obj: "u32" as in a case, "u32_per_tile" an expression of tile,
 * tiles, index, count and i or a list of lists (one for each tile), "u32_sequence" an expression of
 * i; expressions take "count" elements, default 1. tiles is NULL where values cannot differ between
 * tiles. */
enum emu_status manifest_read_data(const struct json_reader *r, const struct json_path *at,
                                   const json_t *obj, const struct tile_list *tiles,
                                   struct manifest_data *out) EMU_MUST_CHECK;
void manifest_data_free(struct manifest_data *d);
uint32_t manifest_data_bytes(const struct manifest_data *d); /* of one tile */

/* Whose values are asked for. index is the tile's place in its list of `count` tiles. */
struct data_place {
    const struct arch *arch;
    uint32_t tile, index, count;
};

/* Writes the values of one tile, manifest_data_bytes() of them, to out; addresses stay unresolved
 * (their addend). Errors EMU_BAD_FILE: an expression that divides by zero or leaves its type. */
enum emu_status manifest_data_fill(const struct manifest_data *d, const struct data_place *p,
                                   uint8_t *out) EMU_MUST_CHECK;

/* ---- manifest_expr.c ---- */

struct expr_variable {
    const char *name;
    int64_t value;
};

/* Evaluates an integer expression: C operators (?: included) on 64 bits that wrap, decimal and 0x
 * numbers, variables. *why is set on failure (0) to a static text. Cost: linear in the text. */
int expr_evaluate(const char *text, const struct expr_variable *v, size_t variables, int64_t *out,
                  const char **why);

/* ---- manifest_tiles.c ---- */

/* Reads 5, "all", "0-15", "0-31:2" (every second), "4-" (to the last), "last-31-last" (32 tiles),
 * "1,3,8-11", or a list of these. */
enum emu_status tile_list_read(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, const struct arch *arch,
                               struct tile_list *out) EMU_MUST_CHECK;
void tile_list_free(struct tile_list *l);

#endif
