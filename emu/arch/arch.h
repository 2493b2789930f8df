/* arch.h - the numbers of a chip: struct arch, machine files, built-in machines.
 *
 * arch_fields.def lists the fields with unit, source and certainty, arch_presets.def the built-in
 * values; arch_numbers.h has those that are no members of struct arch by name. A machine file is a
 * JSON object {"base": "mk2", "name": "...", field: value, ...}: a preset and the fields that
 * differ from it. struct arch is a plain value: copy it by assignment; there is nothing to free.
 */
#ifndef EMU_ARCH_H
#define EMU_ARCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/api.h"
#include "emu/base/status.h"

struct json_t; /* json_t of jansson */

SUPERSTEP_API_BEGIN

enum { ARCH_TEXT_MAX = 64 }; /* bytes of a text field, the final zero included */

/* Worker contexts of a tile, which is also the number of slots of its barrel and the value of the
 * field `workers` in every machine. Register lanes, the division of work in programs, and $WSR all
 * rely on it. */
enum { TILE_WORKERS = 6 };

enum arch_exchange_kind {
    ARCH_EXCHANGE_FLAT,    /* physical = logical, the same T for every pair */
    ARCH_EXCHANGE_COLUMNS, /* rows of 16 groups of four tiles, as on the chips */
    ARCH_EXCHANGE_KIND_COUNT
};

/* What happens to a word that is stored in the memory element from which the tile sends or fetches
 * in that cycle (docs/exchange.md 4). */
enum arch_clash {
    ARCH_CLASH_IGNORE, /* nothing; the checking mode reports it */
    ARCH_CLASH_FAULT,  /* an exchange error of the tile */
    ARCH_CLASH_COUNT
};

/* Whether the rails on which the chips of a rack stand are closed (docs/timing.md 9). */
enum arch_rail { ARCH_RAIL_MESH, ARCH_RAIL_TORUS, ARCH_RAIL_COUNT };

/* More than arch_fields.def has rows, so that a new one changes neither this header nor the size of
 * struct arch. */
enum { ARCH_NUMBERS_MAX = 128 };

/* Members are what is read all over the tree, in the order of arch_fields.def, which has their
 * units; unused bytes of texts are zero. */
struct arch {
    char base[ARCH_TEXT_MAX]; /* the preset this machine was made from */
    char name[ARCH_TEXT_MAX], title[ARCH_TEXT_MAX];
    uint32_t tiles, clock_mhz;
    uint32_t mem_base, mem_bytes, region0_bytes, element_bytes;
    uint32_t workers, null_source, sync_chip_cycles, chips;
    uint64_t number[ARCH_NUMBERS_MAX]; /* the others: arch_numbers.h */
};

enum arch_type {
    ARCH_TYPE_text,
    ARCH_TYPE_u32,
    ARCH_TYPE_hex,
    ARCH_TYPE_kind,
    ARCH_TYPE_clash,
    ARCH_TYPE_rails,
    ARCH_TYPE_u64
};

/* Who reads a field: compiling, or only the run of an image, or only a run in which the host takes
 * part, or only one of several chips, or nothing that runs (arch_fields.def). */
enum arch_stage { ARCH_STAGE_C, ARCH_STAGE_R, ARCH_STAGE_H, ARCH_STAGE_L, ARCH_STAGE_N };

/* One row of arch_fields.def, which explains the members. Valid forever. */
struct arch_field {
    const char *name, *unit, *source, *doc;
    enum arch_type type;
    enum arch_stage stage;
    uint32_t offset, bytes; /* in struct arch; a number has 4 bytes or 8 */
    char mark;              /* 'H', 'M' or 'A' on mk2 */
    uint64_t min, max;
};

/* Built-in machines, in the order mk1, mk2, bow, c600, toy4, toy16, toy64. ss_arch_preset gives
 * NULL for an unknown name. */
const struct arch *ss_arch_preset(const char *name);
size_t ss_arch_preset_count(void);
const char *ss_arch_preset_name(size_t i); /* i < ss_arch_preset_count() */

size_t ss_arch_field_count(void);
const struct arch_field *ss_arch_field_at(size_t i); /* i < ss_arch_field_count(), file order */
const struct arch_field *ss_arch_field_find(const char *name); /* NULL if unknown */
const char *ss_arch_field_nearest(const char *name); /* a field spelled like it, or NULL */
uint64_t ss_arch_field_number(const struct arch *a, size_t i); /* value of a field; 0 for texts */
void ss_arch_field_text(const struct arch *a, size_t i, char *out,
                        size_t bytes); /* as --set would read it */

/* Certainty of a value in force: 'H', 'M' or 'A' as recorded for the preset; 'A' where it differs
 * from the preset. */
char ss_arch_field_mark(const struct arch *a, size_t i);

/* What reports call a machine: "mk2", or where values differ from the preset that it was made from
 * "mk2 with tiles=128, sync_chip_cycles=60"; after three of them how many more do. A machine file
 * with a name of its own is called by that. */
enum { ARCH_TITLE_MAX = 256 };
struct arch_title {
    char at[ARCH_TITLE_MAX];
};
struct arch_title ss_arch_title(const struct arch *a);

/* The same for programs: "field=value", as --set reads it, of every value that differs from the
 * preset. A new array of jansson; NULL when out of memory. */
struct json_t *ss_arch_changes(const struct arch *a);

/* Reads a machine file.
 *
 * out     written only on EMU_OK
 * Errors  EMU_IO           the file cannot be read
 *         EMU_BAD_FILE     syntax, duplicate or unknown key, wrong type, value out of range,
 *                          impossible combination; ss_error() is "file: field: expected ...",
 *                          of a syntax error "file:line:column: ..."
 *         EMU_NO_MEMORY
 */
enum emu_status ss_arch_load_file(const char *path, struct arch *out) EMU_MUST_CHECK;

/* The same from n bytes of text; file names it in messages. */
enum emu_status ss_arch_load_text(const char *text, size_t n, const char *file,
                                  struct arch *out) EMU_MUST_CHECK;

/* What --machine takes: the name of a preset, else a machine file. */
enum emu_status ss_arch_from_name_or_file(const char *name_or_path,
                                          struct arch *out) EMU_MUST_CHECK;

/* Sets one field from text: "tiles=736", "mem_base=0x4c000", "mem_bytes=960Ki" (also Mi, Gi; K, M
 * and G are the same), "exchange_kind=flat". "sram=256K" sets mem_bytes, and region0_bytes so that
 * its share of the memory stays, as far as interleaved elements allow.
 *
 * Setting more tiles than the rows hold makes the rows longer, and moves the host and null sources
 * after the physical tiles. Only the limits of the field itself are checked: call ss_arch_check()
 * after the last ss_arch_set(). Errors: EMU_BAD_MACHINE; a is then unchanged. */
enum emu_status ss_arch_set(struct arch *a, const char *field_equals_value) EMU_MUST_CHECK;

/* Returns EMU_BAD_MACHINE for values out of range and impossible combinations; ss_error() names
 * the field, the reason and, where there are some nearby, the nearest values that are possible. */
enum emu_status ss_arch_check(const struct arch *a) EMU_MUST_CHECK;

/* Address of the first byte that the loader of programs fills: compiled code begins there. */
uint32_t ss_arch_loader_base(const struct arch *a);

/* Whether all fields and the base are equal. */
int ss_arch_equal(const struct arch *a, const struct arch *b);
/* Whether all fields that compiling reads are equal: then both run the same images. */
int ss_arch_compiles_equal(const struct arch *a, const struct arch *b);

/* Writes one line per field: name, value, unit, mark, meaning [source]; "(mk2: 1472)" where it
 * differs from the preset. Headings and derived figures start with '#'. */
void ss_arch_print(const struct arch *a, FILE *f);

/* The machine as a JSON machine file with every field; reading it gives an ss_arch_equal machine.
 * Owned by the caller, free it with ss_free(); NULL when out of memory. */
char *ss_arch_to_json(const struct arch *a);

/* Derived peaks of one chip, per second. A multiply-add counts as two operations. */
uint64_t ss_arch_f16_ops_per_s(const struct arch *a); /* f16 partial sums */
uint64_t ss_arch_f32_ops_per_s(const struct arch *a);
uint64_t ss_arch_mem_bytes_per_s(const struct arch *a);      /* loads and stores of all tiles */
uint64_t ss_arch_exchange_bytes_per_s(const struct arch *a); /* received by all tiles */
uint64_t ss_arch_link_bytes_per_s(const struct arch *a);     /* all links of a chip, both ways */

/* Tile cycles of a duration, and of bytes at a rate in MB/s (at least 1), rounded up. Exact below
 * 2^50 ns or bytes. */
uint64_t ss_arch_cycles_from_ns(const struct arch *a, uint64_t ns);
uint64_t ss_arch_cycles_for_bytes(const struct arch *a, uint64_t bytes, uint32_t mbytes_per_s);

SUPERSTEP_API_END

#endif
