/* manifest.h - what a JSON file asks for: programs on the tiles of a machine, or one codelet on one
 * tile, with memory, streams, expectations.
 *
 *   ss_manifest_read  JSON text to struct manifest        manifest_read.c, case_read.c,
 * tile_program.c, manifest_data.c, manifest_expr.c ss_manifest_build  a whole machine: assembles,
 * places memory, makes the image manifest_build.c, manifest_source.c case_build       one codelet:
 * case_run.h
 *
 * A case is the short form of a manifest with one program on one tile: what a program says stands
 * at the root, with how its codelet is entered. docs/lab.md and docs/case_format.md describe both
 * forms. Strings point into the JSON tree, which lives as long as the manifest.
 */
#ifndef EMU_MANIFEST_H
#define EMU_MANIFEST_H

#include "emu/arch/arch.h"
#include "emu/asm/asm.h"
#include "emu/job/case_place.h"
#include "emu/job/case_value.h"
#include "emu/job/run_file.h"
#include "emu/load/image.h"

/* Tiles, or chips, in the order in which they were named. */
struct tile_list {
    uint32_t *tile; /* owned */
    size_t count;
};

struct manifest_memory {
    struct case_place place; /* address, where not is_fixed: where ss_manifest_build placed it */
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
    struct tile_list chips; /* the program is on the same tiles of all of them */
    struct tile_list tiles;
    uint32_t group;
    uint32_t code_bytes;            /* kept free for code at the start of the memory */
    struct manifest_memory *memory; /* owned */
    size_t memories;
};

struct manifest_stream {
    uint32_t chip, id, direction, depth; /* enum stream_direction */
    const char *name;                    /* "" if none was given */
    const char *file;                    /* relative to the manifest, or NULL */
    int repeat;
    struct manifest_data data;   /* to the tiles, where there is no file */
    struct manifest_data expect; /* from the tiles; elements 0: nothing is expected */
};

struct manifest_expect {
    struct tile_list chips, tiles;
    const char *name;           /* of a memory, or a symbol of the program */
    uint32_t from;              /* first element compared, in units of its type */
    double tolerance, relative; /* |got - want| <= tolerance + relative |want|; 0: equal bits */
    struct manifest_data value;
};

struct manifest_fault {
    int is_set;
    const char *name;              /* of enum fault */
    const char *exchange;          /* of enum exchange_fault_kind, or NULL */
    int64_t chip, tile, superstep; /* -1: any */
};

/* A number that a user may change: -D NAME=VALUE. */
struct manifest_parameter {
    const char *name, *text; /* borrowed from the tree */
    int64_t value, low, high;
    int is_given;
};

/* How the codelet of a case is entered. */
enum case_as {
    CASE_WORKER,    /* `run`: worker 0 alone */
    CASE_WORKERS,   /* `runall`: six workers with one vertex state */
    CASE_SUPERVISOR /* `call`: m0 = vertex state, $sp valid, ends with br $lr */
};

enum { CASE_WORKER_COUNT = 6 };

/* What a case says beyond a manifest with one program. */
struct tile_case {
    enum case_as as;
    struct manifest_memory state; /* placed after the other memories */
    struct case_register *set;    /* owned */
    size_t set_count;
    struct case_data weights;              /* common weight state from entry 0 on, count 0: zeros */
    struct case_register *expect_register; /* owned */
    size_t expect_register_count;
    struct json_range expect_slots[CASE_WORKER_COUNT], expect_instructions;
    uint32_t stack_bytes, scratch_bytes;
};

struct manifest {
    json_t *root;    /* owned */
    char *path;      /* owned: where it was read, for messages */
    char *directory; /* owned: "" or ends with '/' */
    struct arch arch;
    int of_chips;   /* it says "chips": one for a system, whose zones stand in the image */
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
    const char *expect_digest;   /* 32 hex digits, or NULL */
    const char *expect_check;    /* what the checking mode must report, or NULL; then it is on */
    struct tile_case *tile_case; /* owned; NULL: programs for a whole machine. Else there is one
                                    program, whose list of tiles is [0] */
    int raw;                     /* sources are assembled without the C preprocessor */
    struct manifest_parameter *parameter; /* owned */
    size_t parameters;
};

/* Whether a JSON tree is a case: it has the keys of a program at its root. */
int manifest_is_case(const json_t *root);

/* The manifest of a source file that runs on all tiles from `main` on; of its text, where that is
 * not NULL. */
enum emu_status manifest_for_source(const char *path, const char *text,
                                    const struct manifest_options *o,
                                    struct manifest **out) EMU_MUST_CHECK;
/* A path of the manifest, relative to its file. Owned by the caller; NULL when out of memory. */
char *manifest_path(const struct manifest *m, const char *path);

/* Whether all parameters have the values of the file; {"WORDS": 8}, a new reference, NULL when out
 * of memory. */
int manifest_own_parameters(const struct manifest *m);
json_t *manifest_parameters_json(const struct manifest *m);

/* The memory of a program by name, or NULL; and the program of a tile of a chip, or NULL. */
const struct manifest_memory *manifest_find_memory(const struct manifest_program *p,
                                                   const char *name);
const struct manifest_program *manifest_program_of(const struct manifest *m, uint32_t chip,
                                                   uint32_t tile);

/* Whose values are asked for. index is the tile's place in its list of `count` tiles. */
struct data_place {
    const struct arch *arch;
    uint32_t chip, tile, index, count;
};

/* ---- tile_program.c ---- */

/* "source" or "asm", "entry" (p->entry stays, if it is there, without one) and "defines" of v. */
enum emu_status program_read_code(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, struct manifest_program *p) EMU_MUST_CHECK;
/* "memory" of v. taken: names that no memory may have, NULL at the end; or NULL. */
enum emu_status program_read_memory(const struct json_reader *r, const struct json_path *at,
                                    const json_t *v, const char *const *taken,
                                    struct manifest_program *p) EMU_MUST_CHECK;
/* Places the memories: those with a fixed address, then the others in order, and sets their
 * addresses. Errors: of case_layout_fix(), case_layout_fit(). */
enum emu_status program_place(struct manifest_program *p, struct case_layout *l) EMU_MUST_CHECK;

/* Address of a memory of the program, else of a symbol of its code; 0 if there is neither. */
int program_symbol(const struct manifest_program *p, const struct asm_image *code, const char *name,
                   size_t len, uint32_t *address);

/* Whether every address among the values is known. file and what name the values in messages.
 * EMU_BAD_FILE. */
enum emu_status program_check_names(const struct manifest_program *p, const struct asm_image *code,
                                    const struct manifest_data *d, const char *file,
                                    const char *what) EMU_MUST_CHECK;

/* The values of one tile with the addresses in them; out has room for manifest_data_bytes(). p and
 * code may be NULL where values are numbers. EMU_BAD_FILE: an unknown name; an expression that
 * divides by zero or leaves its type. */
enum emu_status program_fill_values(const struct manifest_program *p, const struct asm_image *code,
                                    const struct manifest_data *d, const struct data_place *place,
                                    const char *file, const char *what,
                                    uint8_t *out) EMU_MUST_CHECK;
void program_free(struct manifest_program *p);

/* ---- manifest_data.c ---- */

/* Whether a key names a typed value: "f32", "f32_per_tile", "f32_sequence". */
int manifest_data_key(const char *key);

/* The one array of obj that is named by its type, "f32": [...]. */
enum emu_status manifest_read_typed(const struct json_reader *r, const struct json_path *at,
                                    const json_t *obj, struct case_data *out) EMU_MUST_CHECK;

/* Reads the one typed value of obj: "u32" as above, "u32_per_tile" an expression of tile,
 * tiles, chip, chips, index, count and i or a list of lists (one for each tile), "u32_sequence" an
 * expression of i; expressions take "count" elements, default 1. tiles is NULL where values cannot
 * differ between tiles. */
enum emu_status manifest_read_data(const struct json_reader *r, const struct json_path *at,
                                   const json_t *obj, const struct tile_list *tiles,
                                   struct manifest_data *out) EMU_MUST_CHECK;
void manifest_data_free(struct manifest_data *d);
uint32_t manifest_data_bytes(const struct manifest_data *d); /* of one tile */

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
/* The same for chips: 1, "all", "0-3" .. */
enum emu_status chip_list_read(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, const struct arch *arch,
                               struct tile_list *out) EMU_MUST_CHECK;
/* Tiles from text alone; messages begin with `name`. */
enum emu_status tile_list_read_text(const char *name, const char *text, const struct arch *arch,
                                    struct tile_list *out) EMU_MUST_CHECK;
void tile_list_free(struct tile_list *l);

#endif
