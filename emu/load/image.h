/* image.h - a program for a whole machine: bytes of every tile, where each tile starts, streams,
 * symbols, and the purpose of every byte.
 *
 * An image is the program of one replica, whose chips are numbered from 0. A system has one or more
 * replicas, which all run it: the number of chips of its machine is that of the system.
 *
 * The same structure is built by hand (lab programs), by the compiler, and by the reader of image
 * files. Memory comes in segments; equal bytes of different tiles are stored once. Categories,
 * owners and symbols are text for people; the machine does not interpret them. Strings and blobs
 * are interned: ids are small integers, valid for the life of the image.
 */
#ifndef EMU_IMAGE_H
#define EMU_IMAGE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/arch/arch.h"
#include "emu/base/output_file.h"
#include "emu/base/hash.h"
#include "emu/bsp/zone.h"
#include "emu/exchange/exchange_part.h"
#include "emu/load/image_file.h"

enum stream_direction { STREAM_TO_TILES, STREAM_TO_HOST };

/* A part of the initial memory of a tile. */
struct image_segment {
    uint32_t addr, bytes;
    uint32_t blob; /* id of the blob whose first bytes they are */
};

/* The purpose of a byte range of a tile. Ranges of a tile do not overlap; bytes in no range are a
 * gap. */
struct image_range {
    uint32_t addr, bytes;
    uint32_t category; /* string id: "variable", "vertex code", ... */
    uint32_t owner;    /* string id: which variable, codelet or step; 0 for none */
};

struct image_symbol {
    uint32_t addr, bytes;
    uint32_t name; /* string id */
};

/* Maps code addresses to source lines; an entry holds up to the address of the next one. */
struct image_line {
    uint32_t addr;
    uint32_t file; /* string id; 0 where nothing is known */
    uint32_t line;
};

/* What a call of worker code costs is the same wherever it has the same key
 * (docs/timing_engine.md).
 */
struct image_key {
    uint32_t addr;   /* of the instruction that launches workers, or calls code that does */
    uint32_t lo, hi; /* the key: halves of 64 bits */
};

/* A vertex of a compiled program. */
struct image_vertex {
    uint32_t addr;  /* of the instruction that launches its workers, or calls code that does */
    uint32_t state; /* where its state is */
    uint32_t form;  /* string id: which codelet it runs, and how long its fields are
                       (docs/image.md) */
};

/* One tile that takes part. Many tiles may name the same table. */
struct image_tile {
    uint32_t tile;                    /* logical number in its chip */
    uint32_t chip;                    /* of the replica */
    uint32_t group;                   /* sync group */
    uint32_t entry;                   /* of the supervisor */
    uint32_t segments, first_segment; /* in the image's list of segments; set by image_add_tile */
    uint32_t map;     /* id of a list of ranges; 0, here and below: the empty list */
    uint32_t symbols; /* id of a list of symbols, sorted by address */
    uint32_t lines;   /* id of a list of lines, sorted by address */
    uint32_t keys;    /* id of a list of keys, sorted by address; the empty one: nothing is known */
    uint32_t parts;   /* id of a list of parts in exchanges, sorted by address; the same */
    uint32_t vertices; /* id of a list of vertices, sorted by address; the same */
};

struct image_stream {
    uint32_t id;   /* the number in transfer headers, below HOST_HEADER_STREAMS; every chip has its
                      own numbers */
    uint32_t name; /* string id */
    uint32_t direction; /* enum stream_direction */
    uint32_t depth;     /* transfers the host keeps in flight */
    uint64_t bytes;     /* of one run; 0: unknown */
    /* What one transfer carries; all 0: it is not known. */
    uint32_t type;       /* string id: "f16", text for people */
    uint32_t elem_bytes; /* of an element */
    uint32_t elements;
    uint32_t order; /* id of a list: how the elements cross the link; the empty one: the program
                       does not use the stream */
    uint32_t chip;  /* whose tiles ask for its transfers */
};

/* A part of a transfer: bytes that cross the link one after another. */
#define IMAGE_ORDER_FILLER UINT32_MAX
struct image_order {
    uint32_t element; /* the first one, those that follow it come next; IMAGE_ORDER_FILLER: zeros
                         that fill up */
    uint32_t bytes;
};

/* A part of the program, such as a layer of a network. Its number is its place in the list, counted
 * from 1; scope 0 is the program itself. */
struct image_scope {
    uint32_t path;   /* string id */
    uint32_t parent; /* a smaller number */
};

/* The scope of an owner of ranges, that is, of the operation, variable or codelet of this name. */
struct image_owner {
    uint32_t name; /* string id */
    uint32_t scope;
};

/* What the host writes before a run, an input, or reads after it, an output: the elements in order,
 * cut into parts. The machine knows nothing of networks: names and types ("f16") are text. */
struct image_input {
    uint32_t name, type; /* string ids; name is not 0 */
    uint32_t elem_bytes;
    uint32_t parts, first_part; /* in the list of parts; the first is set when it is added */
    uint64_t elements;
};
struct image_input_part {
    uint32_t chip, tile, addr, bytes;
    uint32_t blob; /* what it holds unless the host writes something else; 0: the host must write
                      it, and of an output */
};

/* What is sent between chips under one name, again and again: faults and reports name it. */
struct image_channel {
    uint32_t name;              /* string id, not 0 */
    uint32_t parts, first_part; /* in the list of parts; the first is set when it is added */
};
struct image_channel_part {
    uint32_t chip;     /* of the replica that sends or receives, which may be another one */
    uint32_t receives; /* 1: the bytes arrive here, 0: they leave here */
    uint32_t tile, addr, bytes; /* a program may send from several places in turn: all of them */
};

/* A header of a transfer between chips (emu/exchange/link_header.h) that lies in the memory of a
 * tile. The chip in it counts from the first chip of a replica; the loader makes it one of the
 * system. */
struct image_link {
    uint32_t chip, tile, addr;
    int32_t replica; /* whose chips are counted: so many further round the ring of replicas, 0: the
                        own one */
};

/* What a program that runs the image may want to know, as text under a name: how pictures are
 * prepared for a network. */
struct image_note {
    uint32_t name, text; /* string ids, not 0 */
};

/* The key of a branch on a register that is usually 0: the timing engine takes that side. */
#define IMAGE_KEY_RARE 1
/* The note of programs that have such branches, one of them in words. */
#define IMAGE_NOTE_USUAL "usual"

/* Notes of programs with keys: categories of memory that no control flow depends on, separated by
 * commas; or where control flow depends on data. */
#define IMAGE_NOTE_NUMBERS "numbers"
#define IMAGE_NOTE_DEPENDS "depends"

/* Who sends to whom in an exchange that tiles have parts of (emu/exchange/exchange_traffic.h). */
struct image_traffic {
    uint32_t exchange; /* its number */
    uint32_t pairs;
    uint32_t list_bytes, messages_bytes;
    struct hash128 key;
    const void *list;     /* packed numbers (emu/base/packed_numbers.h): the pairs, as planes */
    const void *messages; /* packed numbers: [2][tiles] messages in, out */
};

/* The builder. All functions return EMU_NO_MEMORY, or EMU_BAD_IMAGE for what the rules above or the
 * limits below forbid, and then leave the image as it was.
 *
 * Limits: a string below 1 MiB, a blob at most the memory of a tile, all blobs 8 GiB; a list 2^24
 * entries; a stream depth 65,536. Ranges and segments are not empty, lie in tile memory and are
 * disjoint (segments may come in any order); a range has a category other than "". Lines ascend
 * strictly, as do keys and vertices, and symbols may share an address. An entry, as the address of
 * a key or vertex, is a multiple of 4 in region 0. Tiles and streams are unique; a transfer has
 * less than 4 GiB, the parts of its order are not empty and whole elements of it, and a run is
 * whole transfers. Parents are added before their scopes; the string ids of owners ascend. Zones
 * have a scope once, channels different names and as many bytes sent as received, or as many from
 * each of several places, none of them received twice, in whole words; links ascend by chip, tile
 * and address.
 *
 * arch is copied; one that ss_arch_check() refuses gives EMU_BAD_MACHINE. */
enum emu_status image_new(const struct arch *arch, struct image **out) EMU_MUST_CHECK;
enum emu_status image_string(struct image *im, const char *text,
                             uint32_t *id) EMU_MUST_CHECK; /* "" is 0 */
/* The bytes are copied, and equal blobs stored once; a blob of no bytes has id 0. Pages of zeros
 * cost no host memory. */
enum emu_status image_blob(struct image *im, const void *data, uint32_t bytes,
                           uint32_t *id) EMU_MUST_CHECK;
enum emu_status image_map(struct image *im, const struct image_range *r, size_t n,
                          uint32_t *id) EMU_MUST_CHECK; /* sorted by addr */
enum emu_status image_symbols(struct image *im, const struct image_symbol *s, size_t n,
                              uint32_t *id) EMU_MUST_CHECK;
enum emu_status image_lines(struct image *im, const struct image_line *l, size_t n,
                            uint32_t *id) EMU_MUST_CHECK;
enum emu_status image_keys(struct image *im, const struct image_key *k, size_t n,
                           uint32_t *id) EMU_MUST_CHECK;
enum emu_status image_vertices(struct image *im, const struct image_vertex *v, size_t n,
                               uint32_t *id) EMU_MUST_CHECK;
enum emu_status image_orders(struct image *im, const struct image_order *o, size_t n,
                             uint32_t *id) EMU_MUST_CHECK;
/* Parts of exchanges (emu/exchange/exchange_part.h) follow each other without overlap. */
enum emu_status image_parts(struct image *im, const struct exchange_part *p, size_t n,
                            uint32_t *id) EMU_MUST_CHECK;
/* Ascending by exchange; the lists are copied. What is in them is checked when a run wants it. */
enum emu_status image_add_traffic(struct image *im, const struct image_traffic *t) EMU_MUST_CHECK;
enum emu_status image_add_tile(struct image *im, const struct image_tile *t,
                               const struct image_segment *s, size_t n) EMU_MUST_CHECK;
enum emu_status image_add_stream(struct image *im, const struct image_stream *s) EMU_MUST_CHECK;
enum emu_status image_add_scope(struct image *im, const struct image_scope *s) EMU_MUST_CHECK;
enum emu_status image_add_owner(struct image *im, const struct image_owner *o) EMU_MUST_CHECK;
/* p has in->parts entries, on tiles that were added before; together they have as many bytes as the
 * elements. Inputs have different names, and so have outputs and notes. */
enum emu_status image_add_input(struct image *im, const struct image_input *in,
                                const struct image_input_part *p) EMU_MUST_CHECK;
enum emu_status image_add_output(struct image *im, const struct image_input *out,
                                 const struct image_input_part *p) EMU_MUST_CHECK;
/* Says whom a sync in this zone joins, 3 to 7 or 12 to 15. Zones without a scope are reserved as
 * soon as one zone has one; else they have those of sync_scope_default(). */
enum emu_status image_set_zone(struct image *im, unsigned zone,
                               enum sync_scope scope) EMU_MUST_CHECK;
/* p has c->parts entries, on tiles that were added before, as is that of a link. */
enum emu_status image_add_channel(struct image *im, const struct image_channel *c,
                                  const struct image_channel_part *p) EMU_MUST_CHECK;
enum emu_status image_add_link(struct image *im, const struct image_link *l) EMU_MUST_CHECK;
enum emu_status image_add_note(struct image *im, const struct image_note *n) EMU_MUST_CHECK;
/* The same, and adds both strings. Errors: those of image_string() and image_add_note(). */
enum emu_status image_add_note_text(struct image *im, const char *name,
                                    const char *text) EMU_MUST_CHECK;

/* What the host writes into an input, its elements in order, instead of what the parts held.
 * EMU_BAD_IMAGE when there is no input of that name, EMU_NO_MEMORY. */
enum emu_status image_fill_input(struct image *im, const char *name,
                                 const void *data) EMU_MUST_CHECK;
/* Makes the image one for another machine, on which the same program would have been compiled: the
 * machines may differ in fields that only a run reads (arch_fields.def) and in the base. Else
 * EMU_BAD_IMAGE, and the image is as before. */
enum emu_status image_set_arch(struct image *im, const struct arch *arch) EMU_MUST_CHECK;

/* Views; borrowed from the image. Texts, blobs and lists stay valid as long as the image; tiles,
 * segments, streams and scopes until the next one is added. Ids and indices must exist
 * (EMU_ASSERT). Empty lists and the empty blob may be NULL. */
size_t image_tile_count(const struct image *im);
const struct image_tile *image_tile_at(const struct image *im, size_t i);
const struct image_segment *image_segment_at(const struct image *im, size_t i);
const uint8_t *image_blob_bytes(const struct image *im, uint32_t blob, uint32_t *bytes);
const char *image_text(const struct image *im, uint32_t string);
const struct image_range *image_map_of(const struct image *im, uint32_t map, size_t *n);
const struct image_symbol *image_symbols_of(const struct image *im, uint32_t symbols, size_t *n);
const struct image_line *image_lines_of(const struct image *im, uint32_t lines, size_t *n);
const struct image_key *image_keys_of(const struct image *im, uint32_t keys, size_t *n);
const struct exchange_part *image_parts_of(const struct image *im, uint32_t parts, size_t *n);
const struct image_vertex *image_vertices_of(const struct image *im, uint32_t vertices, size_t *n);
size_t image_traffic_count(const struct image *im); /* 0: it is not known */
const struct image_traffic *image_traffic_at(const struct image *im, size_t i);
size_t image_stream_count(const struct image *im);
const struct image_stream *image_stream_at(const struct image *im, size_t i);
const struct image_order *image_order_of(const struct image *im, uint32_t order, size_t *n);
/* Of one transfer on the link, with what fills it up; 0: the order is empty. */
uint64_t image_transfer_bytes(const struct image *im, const struct image_stream *s);
uint32_t image_scope_count(const struct image *im); /* with 0, the program itself */
/* 0 < scope < image_scope_count(). */
const struct image_scope *image_scope_at(const struct image *im, uint32_t scope);
/* The scope of an owner (a string id); 0 for the program itself, or when the scope is not known. */
uint32_t image_scope_of(const struct image *im, uint32_t owner);
/* The range of a tile's map that contains this byte; NULL when it is in a gap. */
const struct image_range *image_range_at(const struct image *im, const struct image_tile *t,
                                         uint32_t addr);
uint32_t
image_chip_count(const struct image *im); /* of a replica: 1 and the highest of its tiles */
enum sync_scope image_zone_scope(const struct image *im, unsigned zone); /* below SYNC_ZONES */
size_t image_channel_count(const struct image *im);
const struct image_channel *image_channel_at(const struct image *im, size_t i);
const struct image_channel_part *image_channel_part_at(const struct image *im, size_t i);
size_t image_link_count(const struct image *im);
const struct image_link *image_link_at(const struct image *im, size_t i);
size_t image_input_count(const struct image *im);
const struct image_input *image_input_at(const struct image *im, size_t i);
const struct image_input_part *image_input_part_at(const struct image *im, size_t i);
size_t image_output_count(const struct image *im);
const struct image_input *image_output_at(const struct image *im, size_t i);
const struct image_input_part *image_output_part_at(const struct image *im, size_t i);
/* The place of the one with that name; the number of all where there is none. */
size_t image_input_find(const struct image *im, const char *name);
size_t image_output_find(const struct image *im, const char *name);
/* The text of a note; NULL: there is none of that name. */
const char *image_note(const struct image *im, const char *name);

/* image_symbolize() gives the symbol at or below addr, NULL if there is none; *offset is the
 * distance. image_source() gives the source file and line of a code address (line 0 if unknown). */
const char *image_symbolize(const struct image *im, const struct image_tile *t, uint32_t addr,
                            uint32_t *offset);
const char *image_source(const struct image *im, const struct image_tile *t, uint32_t addr,
                         uint32_t *line);
/* The tile record of a logical tile, NULL when it takes no part. */
const struct image_tile *image_find_tile(const struct image *im, uint32_t chip, uint32_t tile);

/* Proves that the ranges of a tile and the gaps between them add up to its memory exactly; else
 * EMU_BAD_IMAGE. */
enum emu_status image_check_map(const struct image *im, const struct image_tile *t) EMU_MUST_CHECK;
/* How many bytes of a tile's memory are in ranges of a category (a string id); for category 0, how
 * many are in gaps. */
uint32_t image_category_bytes(const struct image *im, const struct image_tile *t,
                              uint32_t category);
/* The id of a string in the image, UINT32_MAX when the image does not have it. */
uint32_t image_find_string(const struct image *im, const char *text);

/* ss_image_write() into an output that was opened before; the caller commits it. */
enum emu_status image_write_to(const struct image *im,
                               const struct output_file *out) EMU_MUST_CHECK;

/* A field of a vertex, or a table or list of it, by its form and the words of its state. */
struct image_field {
    char name[64];
    uint32_t addr, bytes;
    char use; /* 'r' read, 'w' written, 'b' both */
};
/* Calls back for the fields of a vertex, those in runs once for each, its state and tables among
 * them, named "". word() gives a word of the memory of its tile. EMU_BAD_IMAGE where the form is
 * none; else the first status that is not EMU_OK. */
enum emu_status
image_vertex_fields(const struct image *im, const struct image_vertex *v,
                    uint32_t (*word)(const void *memory, uint32_t addr), const void *memory,
                    enum emu_status (*visit)(void *ctx, const struct image_field *f),
                    void *ctx) EMU_MUST_CHECK;
/* The name of its codelet, written into out. */
void image_vertex_codelet(const struct image *im, const struct image_vertex *v, char out[64]);

/* Why the timing engine cannot run a program, as what its cycles depend on; NULL: it can. */
const char *image_timing_obstacle(const struct image *im);

/* Puts a program into a machine: the zones of its syncs, the memory of its tiles, their entries and
 * groups, and the contents of inputs. The machine must be new and ss_arch_equal to the image's
 * machine; else EMU_BAD_IMAGE. Pages of zeros are not touched. image_load is for programs of one
 * chip; image_load_chip takes the tiles of one chip of a replica, whose first chip is chip `first`
 * of the system, and completes their headers: EMU_BAD_IMAGE, too, where the chips of the system are
 * not whole replicas, `first` not the begin of one, or a link no header of a chip of the image. For
 * a machine with a replay, which gets the keys, numbers are left out. */
struct machine;
enum emu_status image_load(const struct image *im, struct machine *m) EMU_MUST_CHECK;
enum emu_status image_load_chip(const struct image *im, uint32_t chip, uint32_t first,
                                struct machine *m) EMU_MUST_CHECK;

#endif
