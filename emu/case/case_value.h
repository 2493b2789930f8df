/* case_value.h - numbers, arrays and names in a case file; where in the file a mistake is. */
#ifndef EMU_CASE_VALUE_H
#define EMU_CASE_VALUE_H

#include "emu/case/case.h"

/* A place in the JSON tree, linked from the inside out on the reader's stack. */
struct case_path {
    const struct case_path *up; /* NULL at the root */
    const char *key;            /* NULL: an array index */
    size_t index;
};

struct case_reader {
    const char *file;
    struct tile_case *c;
};

/* Fails with "FILE: PATH: expected ..., got ...". got may be NULL when something is missing. */
enum emu_status case_wrong(const struct case_reader *r, const struct case_path *at,
                           const json_t *got, const char *fmt, ...) EMU_MUST_CHECK EMU_PRINTF(4, 5);

/* A string that is not empty; *out is borrowed from the tree. */
enum emu_status case_read_string(const struct case_reader *r, const struct case_path *at,
                                 const json_t *v, const char **out) EMU_MUST_CHECK;

/* An integer in low..high, or a string "0x...". */
enum emu_status case_read_integer(const struct case_reader *r, const struct case_path *at,
                                  const json_t *v, uint64_t low, uint64_t high,
                                  uint64_t *out) EMU_MUST_CHECK;

/* Reads an array of numbers, or one number as an array of length 1. out->data is owned by the
 * caller also on failure.
 *
 * Numbers are rounded to nearest even in float types and must fit in integer types. Strings:
 * "0x..." raw bits; "nan", "inf",
 * "-inf" in float types; in u32 and i32 everything else is an address, "symbol", "symbol+8" or
 * "symbol-4". */
enum emu_status case_read_data(const struct case_reader *r, const struct case_path *at,
                               const json_t *v, enum case_type type,
                               struct case_data *out) EMU_MUST_CHECK;

/* The same for a 32-bit register or word: a number from -2^31 to 2^32 - 1, raw bits, an address, or
 * an object with one typed value such as {"f32": 0.5} that fills whole words. */
enum emu_status case_read_word(const struct case_reader *r, const struct case_path *at,
                               const json_t *v, struct case_data *out) EMU_MUST_CHECK;

void case_data_free(struct case_data *d);

/* Raw bits of element i, and its value as a number (infinities and NaN included). */
uint32_t case_element_bits(const struct case_data *d, uint32_t i);
double case_bits_value(enum case_type t, uint32_t bits);

/* Resolves "m2", "a5", "acc3", "w3.m2", "s.m1" or a CSR name, "TAS", "w3.TAS".
 *
 * to_write  the register is to be set, else compared
 * Fails with EMU_BAD_FILE when there is no such register, or it cannot be written or read. */
enum emu_status case_read_register_name(const struct case_reader *r, const struct case_path *at,
                                        const char *name, int to_write,
                                        struct case_register *out) EMU_MUST_CHECK;
enum emu_status case_read_csr_name(const struct case_reader *r, const struct case_path *at,
                                   const char *name, int to_write,
                                   struct case_register *out) EMU_MUST_CHECK;

#endif
