/* json_read.h - typed values of a JSON tree, for every file that people write: manifests, cases.
 *
 * Every message names the file, the path of the key, what was expected there and what was found.
 * Strings that are read are borrowed from the tree.
 */
#ifndef EMU_JSON_READ_H
#define EMU_JSON_READ_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/fail.h"

enum { JSON_LIST_MAX = 1 << 16 }; /* entries of a list that is written by hand */

/* A place in the tree, linked from the inside out on the reader's stack. */
struct json_path {
    const struct json_path *up; /* NULL at the root */
    const char *key;            /* NULL: an array index */
    size_t index;
};

struct json_reader {
    const char *file; /* borrowed: its name in messages */
    void *ctx;        /* of the functions that read its entries */
};

/* One number, or a lowest and a highest. */
struct json_range {
    int is_set;
    uint64_t low, high;
};

/* Reads a tree from text or from a file ("-": standard input); duplicate keys are refused. *out is
 * owned by the caller, NULL on failure. Errors: EMU_IO, EMU_BAD_FILE with line and column. */
enum emu_status json_read_text(const char *text, size_t bytes, const char *name,
                               json_t **out) EMU_MUST_CHECK;
/* The bytes of a file, one that is built in or a pipe, too. *text is owned by the caller, also on
 * failure. Errors: EMU_IO, EMU_NO_MEMORY. */
enum emu_status json_read_file(const char *path, char **text, size_t *bytes) EMU_MUST_CHECK;

/* Fails with "FILE: PATH: expected ..., got ..."; got NULL: something is missing. EMU_BAD_FILE. */
enum emu_status json_wrong(const struct json_reader *r, const struct json_path *at,
                           const json_t *got, const char *fmt, ...) EMU_MUST_CHECK EMU_PRINTF(4, 5);

/* A misspelt "expect_cylces" would otherwise pass every time. known ends with NULL; other(key), not
 * NULL, knows more keys. */
enum emu_status json_refuse_unknown(const struct json_reader *r, const struct json_path *at,
                                    const json_t *obj, const char *const *known,
                                    int (*other)(const char *key)) EMU_MUST_CHECK;

/* A string that is not empty. */
enum emu_status json_read_string(const struct json_reader *r, const struct json_path *at,
                                 const json_t *v, const char **out) EMU_MUST_CHECK;
/* An integer in low..high, or a string "0x...". */
enum emu_status json_read_integer(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, uint64_t low, uint64_t high,
                                  uint64_t *out) EMU_MUST_CHECK;

/* A key of obj, if it is there; *out keeps its value otherwise. */
enum emu_status json_optional_string(const struct json_reader *r, const struct json_path *at,
                                     const json_t *obj, const char *key,
                                     const char **out) EMU_MUST_CHECK;
enum emu_status json_optional_u32(const struct json_reader *r, const struct json_path *at,
                                  const json_t *obj, const char *key, uint32_t low, uint32_t high,
                                  uint32_t *out) EMU_MUST_CHECK;
enum emu_status json_optional_u64(const struct json_reader *r, const struct json_path *at,
                                  const json_t *obj, const char *key, uint64_t low, uint64_t high,
                                  uint64_t *out) EMU_MUST_CHECK;
/* A number that is not negative. */
enum emu_status json_optional_bound(const struct json_reader *r, const struct json_path *at,
                                    const json_t *obj, const char *key, double *out) EMU_MUST_CHECK;

/* 120, or [110, 130]. v NULL: is_set stays 0. */
enum emu_status json_read_range(const struct json_reader *r, const struct json_path *at,
                                const json_t *v, struct json_range *out) EMU_MUST_CHECK;

/* Calls read_one for each entry of a list of at most JSON_LIST_MAX; v NULL: there is none. */
typedef enum emu_status json_read_fn(const struct json_reader *r, const struct json_path *at,
                                     const json_t *v);
enum emu_status json_read_list(const struct json_reader *r, const struct json_path *at,
                               const json_t *v, json_read_fn *read_one) EMU_MUST_CHECK;

/* A string, or a list of strings. *out is owned by the caller, also on failure; its texts are
 * borrowed. */
enum emu_status json_read_strings(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, const char ***out, size_t *count) EMU_MUST_CHECK;
/* {"NAME": "text" or number} as texts "NAME=text". *out and its texts are owned by the caller, also
 * on failure. v NULL: there are none. */
enum emu_status json_read_defines(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, char ***out, size_t *count) EMU_MUST_CHECK;

/* Whether s may name a memory: letters, digits, '_', '.', '$', no digit first. */
int json_is_name(const char *s);

#endif
