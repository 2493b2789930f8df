/* case_value.h - numbers, arrays and names of registers in manifests and cases. */
#ifndef EMU_CASE_VALUE_H
#define EMU_CASE_VALUE_H

#include "emu/base/json_read.h"

/* Element types of arrays. case_value.c has their names, sizes and ranges. */
enum case_type {
    CASE_F16,
    CASE_F32,
    CASE_U32,
    CASE_I32,
    CASE_U16,
    CASE_I16,
    CASE_U8,
    CASE_I8,
    CASE_BYTES, /* a size without values: zeros, printed as u8 */
    CASE_TYPE_COUNT
};

const char *case_type_name(enum case_type t);              /* "f16" */
uint32_t case_type_bytes(enum case_type t);                /* of one element: 1, 2 or 4 */
int case_type_find(const char *name, enum case_type *out); /* 0 if there is no such type */
int case_type_is_float(enum case_type t);

/* A 32-bit word in the data that stands for an address, known only after placing. */
struct case_reloc {
    uint32_t offset;    /* in bytes; the word there holds the addend */
    uint32_t index;     /* element, for messages */
    const char *symbol; /* borrowed from the JSON tree, not terminated */
    uint32_t symbol_len;
};

/* An array of elements, little endian. */
struct case_data {
    enum case_type type;
    uint32_t count, bytes;
    uint8_t *data; /* owned; NULL means zeros */
    struct case_reloc *reloc;
    size_t reloc_count, reloc_cap;
};

/* Values that may differ from tile to tile. */
struct manifest_data {
    struct case_data
        data; /* the same for all tiles, or one after the other if per_tile_count is set */
    uint32_t per_tile_count; /* elements of each tile; 0: data is for all */
    const char *expr;  /* borrowed; instead of data: element i of tile t, `elements` of them */
    uint32_t elements; /* of each tile */
};

/* Where a memory lies. */
struct case_place {
    const char *name; /* borrowed */
    uint32_t region, align;
    int is_fixed;
    uint32_t address; /* "at", where is_fixed */
};

/* Lane numbers: 0..5 workers, LANE_SUPER the supervisor, and every context that runs. */
enum { CASE_LANE_RUNNING = 255 };

/* Register files: 'm', 'a', 'c' (accumulators), or a CSR space 'W', 'U', 'S'. */
struct case_register {
    uint8_t lane;
    char file;
    uint8_t number;             /* first register, or CSR index */
    struct manifest_data value; /* consecutive registers, four bytes each */
    const char *name;           /* borrowed: as written, for messages */
    double tolerance, relative;
};

/* Reads an array of numbers, or one number as an array of length 1. out->data is owned by the
 * caller also on failure.
 *
 * Numbers are rounded to nearest even in float types and must fit in integer types. Strings:
 * "0x..." raw bits; "nan", "inf",
 * "-inf" in float types; in u32 and i32 everything else is an address, "symbol", "symbol+8" or
 * "symbol-4". */
enum emu_status case_read_data(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, enum case_type type,
                               struct case_data *out) EMU_MUST_CHECK;

/* The same for a 32-bit register or word: a number from -2^31 to 2^32 - 1, raw bits, an address, or
 * an object with one typed value such as {"f32": 0.5} that fills whole words. */
enum emu_status case_read_word(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, struct case_data *out) EMU_MUST_CHECK;

/* "name", and "region" and "align" or "at" of a memory. */
enum emu_status case_read_place(const struct json_reader *r, const struct json_path *at,
                                const json_t *v, struct case_place *out) EMU_MUST_CHECK;

void case_data_free(struct case_data *d);

/* Raw bits of element i, and its value as a number (infinities and NaN included). */
uint32_t case_element_bits(const struct case_data *d, uint32_t i);
double case_bits_value(enum case_type t, uint32_t bits);

/* Resolves "m2", "a5", "acc3", "w3.m2", "s.m1" or a CSR name, "TAS", "w3.TAS".
 *
 * lane      of a name without a context: a worker, LANE_SUPER or CASE_LANE_RUNNING
 * to_write  the register is to be set, else compared
 * Fails with EMU_BAD_FILE when there is no such register, or it cannot be written or read. */
enum emu_status case_read_register_name(const struct json_reader *r, const struct json_path *at,
                                        const char *name, uint8_t lane, int to_write,
                                        struct case_register *out) EMU_MUST_CHECK;
enum emu_status case_read_csr_name(const struct json_reader *r, const struct json_path *at,
                                   const char *name, uint8_t lane, int to_write,
                                   struct case_register *out) EMU_MUST_CHECK;

#endif
