/* graph_words.c - keywords, names and numbers of graph files. */
#include "programs/compiler/graph/graph_words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const node_words[NODE_WORDS] = {
    [NODE_SEQUENCE] = "sequence", [NODE_EXECUTE] = "execute",    [NODE_COPY] = "copy",
    [NODE_REPEAT] = "repeat",     [NODE_WHILE] = "while",        [NODE_IF] = "if",
    [NODE_RARE] = "rare",         [NODE_CALL] = "call",          [NODE_TOGETHER] = "together",
    [NODE_STREAM] = "stream",     [NODE_STREAM_BEGIN] = "begin", [NODE_STREAM_END] = "end",
    [NODE_CHIPS] = "meet"
};

const char *const channel_words[CHANNEL_WORDS] = {
    [CHANNEL_SEND] = "send", [CHANNEL_RECEIVE] = "receive"
};
const char *const chips_words[CHIPS_WORDS] = {
    [CHIPS_OF_REPLICA] = "replica", [CHIPS_OF_POD] = "pod"
};

const char *const view_words[VIEW_WORDS] = { [VIEW_CONCAT] = "concat",
                                             [VIEW_RESHAPE] = "reshape",
                                             [VIEW_SLICE] = "slice",
                                             [VIEW_TRANSPOSE] = "transpose",
                                             [VIEW_BROADCAST] = "broadcast" };

const char *const field_words[FIELD_WORDS_COUNT] = {
    [FIELD_IN] = "in",           [FIELD_OUT] = "out",           [FIELD_INOUT] = "inout",
    [FIELD_IN_LIST] = "in_list", [FIELD_OUT_LIST] = "out_list", [FIELD_WORDS] = "words",
    [FIELD_U32] = "u32",         [FIELD_F32] = "f32",           [FIELD_F16] = "f16",
    [FIELD_LENGTH] = "length",   [FIELD_APART] = "apart"
};

const char *codelet_kind_word(enum codelet_kind k)
{
    return k == CODELET_MULTI ? "multi" : "supervisor";
}

enum elem scalar_elem(enum field_kind k)
{
    return k == FIELD_F32 ? ELEM_F32 : k == FIELD_F16 ? ELEM_F16 : ELEM_U32;
}

/* ---- names ---- */

const char *const name_words[NAME_KINDS] = { [NAME_SCOPE] = "scope",
                                             [NAME_VARIABLE] = "variable",
                                             [NAME_STREAM] = "stream",
                                             [NAME_SET] = "compute set",
                                             [NAME_FUNCTION] = "function" };

uint32_t name_count(const struct graph *g, enum name_kind kind)
{
    const size_t count[NAME_KINDS] = { [NAME_SCOPE] = g->scope.count,
                                       [NAME_VARIABLE] = g->variable.count,
                                       [NAME_STREAM] = g->stream.count,
                                       [NAME_SET] = g->compute_set.count,
                                       [NAME_FUNCTION] = g->function.count };

    return (uint32_t)count[kind];
}

const char *name_of(const struct graph *g, enum name_kind kind, uint32_t number)
{
    switch (kind) {
    case NAME_SCOPE:
        return g->scope.at[number].path;
    case NAME_VARIABLE:
        return g->variable.at[number].name;
    case NAME_STREAM:
        return g->stream.at[number].name;
    case NAME_SET:
        return g->compute_set.at[number].name;
    default:
        return g->function.at[number].name;
    }
}

enum emu_status names_add(struct graph_names *n, const char *name, uint32_t number)
{
    uint32_t id = strings_id(&n->text, name);

    while (id != UINT32_MAX && n->of.count <= id)
        TRY(VEC_PUSH(&n->of, (struct name_use){ GRAPH_NONE, 0 }));
    if (id == UINT32_MAX)
        return FAIL(NO_MEMORY, "the names of a graph");
    if (!n->of.at[id].count++)
        n->of.at[id].first = number;
    return EMU_OK;
}

uint32_t names_find(struct graph_names *n, const char *name, uint32_t *count)
{
    uint32_t id = strings_id(&n->text, name);

    *count = id < n->of.count ? n->of.at[id].count : 0;
    return *count ? n->of.at[id].first : GRAPH_NONE;
}

void names_free(struct graph_names *n)
{
    strings_free(&n->text);
    VEC_FREE(&n->of);
}

uint32_t names_scope(struct graph_names *scopes, const char *path)
{
    char *part = emu_strdup(path), *slash = part;
    uint32_t found = 0, count = 0;

    while (part && slash && !count) {
        found = names_find(scopes, part, &count);
        slash = strrchr(part, '/');
        if (slash)
            *slash = 0;
    }
    ss_free(part);
    return count ? found : 0;
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int name_has_char(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-';
}

int name_is_word(const char *name)
{
    if (!is_letter(*name))
        return 0;
    while (name_has_char(*name))
        name++;
    return !*name;
}

/* ---- numbers ---- */

static uint32_t bits_of(enum elem e, const void *data)
{
    uint32_t bits = 0;

    memcpy(&bits, data, ss_elem_bytes(e)); /* little endian */
    return bits;
}

void write_element(enum elem e, const void *data, FILE *f)
{
    uint32_t bits = bits_of(e, data);
    double value = e == ELEM_F32 ? (double)fp_float(bits) : fp_f16_value((uint16_t)bits);

    if (e == ELEM_I32)
        fprintf(f, "%d", (int32_t)bits);
    else if (e != ELEM_F16 && e != ELEM_F32)
        fprintf(f, "%u", bits);
    else if (isnan(value))
        fprintf(f, "0x%x", bits);
    else
        fprintf(f, e == ELEM_F32 ? "%.9g" : "%.5g", value);
}

/* What a type takes, in place of a number that it cannot hold. */
static const char *range_text(enum elem e)
{
    static const char *const text[ELEM_COUNT] = { [ELEM_U8] = "a whole number from 0 to 255",
                                                  [ELEM_F16] = "a number that f16 can hold",
                                                  [ELEM_F32] = "a number that f32 can hold",
                                                  [ELEM_I32] = "a whole number of type i32",
                                                  [ELEM_U32] = "a whole number of type u32" };

    return text[e];
}

const char *element_of_number(enum elem e, double value, uint32_t *bits)
{
    struct fp_env env = { .rnd = FP_RND_NEAREST, .nanoo = 1 };
    double low = e == ELEM_I32 ? INT32_MIN : 0;
    double high = e == ELEM_U8 ? UINT8_MAX : e == ELEM_I32 ? INT32_MAX : UINT32_MAX;

    *bits = 0;
    if (e == ELEM_F32 || e == ELEM_F16) {
        *bits = e == ELEM_F32 ? fp_bits((float)value) : fp_f16_from_f64(value, 0, &env);
        if (!isfinite(value))
            return NULL;
        return isfinite(e == ELEM_F32 ? (double)fp_float(*bits) : fp_f16_value((uint16_t)*bits))
                   ? NULL
                   : range_text(e);
    }
    if (!(value >= low && value <= high) || value != floor(value))
        return range_text(e);
    *bits = (uint32_t)(int64_t)value;
    return NULL;
}

const char *npy_type_of(enum elem e)
{
    static const char *const types[ELEM_COUNT] = {
        [ELEM_U8] = "u1", [ELEM_F16] = "f2", [ELEM_F32] = "f4", [ELEM_I32] = "i4", [ELEM_U32] = "u4"
    };

    return types[e];
}

enum emu_status elements_of_npy(const struct npy_array *a, enum elem e, const char *file, void *out)
{
    unsigned unit = ss_elem_bytes(e);
    uint8_t *at = out;

    if (!strcmp(a->type, npy_type_of(e))) {
        memcpy(at, a->data, a->elements * unit);
        return EMU_OK;
    }
    for (uint64_t k = 0; k < a->elements; k++, at += unit) {
        double value = npy_number(a, k);
        uint32_t bits;
        const char *expected = element_of_number(e, value, &bits);

        if (expected)
            return FAIL(BAD_FILE, "%s: element %" PRIu64 " is %.9g; expected %s", file, k, value,
                        expected);
        memcpy(at, &bits, unit);
    }
    return EMU_OK;
}

const char *read_element(enum elem e, const char *text, uint32_t *bits)
{
    unsigned long long n;
    char *end;

    if (strncmp(text, "0x", 2)) {
        double value = strtod(text, &end);

        return *end || end == text || isnan(value) ? "a number, or the bits of one as 0x..."
                                                   : element_of_number(e, value, bits);
    }
    errno = 0;
    n = strtoull(text, &end, 16);
    if (*end || end == text + 2 || errno || n >> (8 * ss_elem_bytes(e) - 1) > 1)
        return "the bits of an element after 0x";
    *bits = (uint32_t)n;
    return NULL;
}
