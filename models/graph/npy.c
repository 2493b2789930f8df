/* npy.c - a magic number, the version, the length of a header, the header, the elements. The header
 * is the text of a dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. */
#include "models/graph/npy.h"

#include <string.h>

enum { PRELUDE = 8, HEADER_MAX = 65536, ALIGN = 64 };

static const struct npy_type {
    const char *code; /* without the byte order */
    enum op_type type;
} types[] = {
    { "f2", OP_TYPE_F16 }, { "f4", OP_TYPE_F32 }, { "f8", OP_TYPE_F64 }, { "i1", OP_TYPE_I8 },
    { "i2", OP_TYPE_I16 }, { "i4", OP_TYPE_I32 }, { "i8", OP_TYPE_I64 }, { "u1", OP_TYPE_U8 },
    { "u2", OP_TYPE_U16 }, { "u4", OP_TYPE_U32 }, { "u8", OP_TYPE_U64 }, { "b1", OP_TYPE_BOOL },
};

/* ---- reading ---- */

/* What is being read; messages name it. */
struct npy_file {
    const uint8_t *data;
    size_t bytes;
    const char *name;
    char header[HEADER_MAX + 1];
    size_t body; /* where the elements begin */
};

/* What follows a key of the dictionary; NULL: the key is missing. */
static const char *value_of(const struct npy_file *f, const char *key)
{
    const char *at = strstr(f->header, key);

    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " :");
    return at;
}

static enum emu_status read_header(struct npy_file *f)
{
    size_t length, at = PRELUDE + 2;

    if (f->bytes < PRELUDE + 4 || memcmp(f->data, "\x93NUMPY", 6))
        return FAIL(BAD_FILE, "%s: expected a .npy file, which begins with \\x93NUMPY", f->name);
    length = f->data[PRELUDE] | (size_t)f->data[PRELUDE + 1] << 8;
    if (f->data[6] > 3 || !f->data[6])
        return FAIL(BAD_FILE, "%s: version %u of .npy files; 1 to 3 are known", f->name,
                    f->data[6]);
    if (f->data[6] > 1) {
        length |= (size_t)f->data[PRELUDE + 2] << 16 | (size_t)f->data[PRELUDE + 3] << 24;
        at += 2;
    }
    if (length > HEADER_MAX || length > f->bytes - at)
        return FAIL(BAD_FILE, "%s: a header of %zu bytes", f->name, length);
    memcpy(f->header, f->data + at, length);
    f->header[length] = '\0';
    f->body = at + length;
    return EMU_OK;
}

static enum emu_status read_type(const struct npy_file *f, struct op_shape *s)
{
    const char *at = value_of(f, "'descr'");

    if (at && *at == '\'' && at[1] && strchr("<|=", at[1])) {
        for (unsigned k = 0; k < EMU_COUNT_OF(types); k++) {
            size_t n = strlen(types[k].code);

            if (!strncmp(at + 2, types[k].code, n) && at[2 + n] == '\'')
                s->type = types[k].type;
        }
    }
    return s->type != OP_TYPE_UNKNOWN
               ? EMU_OK
               : FAIL(BAD_FILE,
                      "%s: its type is %.12s; expected little-endian f2, f4, f8, i1 to i8, u1 to "
                      "u8 or b1",
                      f->name, at ? at : "missing");
}

static enum emu_status read_shape(const struct npy_file *f, struct op_shape *s)
{
    const char *at = value_of(f, "'shape'");

    if (!at || *at++ != '(')
        return FAIL(BAD_FILE, "%s: its header has no shape", f->name);
    for (;;) {
        uint64_t n = 0;

        at += strspn(at, " ,");
        if (*at == ')')
            break;
        if (*at < '0' || *at > '9' || s->rank == OP_RANK_MAX)
            return FAIL(BAD_FILE, "%s: its shape; expected up to %d sizes", f->name, OP_RANK_MAX);
        for (; *at >= '0' && *at <= '9'; at++) {
            n = 10 * n + (uint64_t)(*at - '0');
            if (n > UINT32_MAX)
                return FAIL(BAD_FILE, "%s: a dimension beyond 2^32", f->name);
        }
        s->dim[s->rank++] = (uint32_t)n;
    }
    if (op_shape_check(s) != EMU_OK)
        return FAIL(BAD_FILE, "%s: more than 2^32 elements", f->name);
    return EMU_OK;
}

/* The first index runs fastest in the file. */
static enum emu_status from_fortran(struct op_tensor *t)
{
    uint64_t n = op_shape_count(&t->shape), *from = t->any, *to;
    struct op_tensor turned;

    TRY(op_tensor_new(&t->shape, &turned));
    to = turned.any;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t rest = k, at = 0, stride = n;

        for (unsigned d = t->shape.rank; d-- > 0;) {
            stride /= t->shape.dim[d];
            at += rest % t->shape.dim[d] * stride;
            rest /= t->shape.dim[d];
        }
        to[k] = from[at];
    }
    op_tensor_free(t);
    *t = turned;
    return EMU_OK;
}

static enum emu_status read_file(struct npy_file *f, struct op_tensor *out)
{
    struct op_shape s = { .rank = 0 };
    const char *order;
    uint64_t need;

    TRY(read_header(f));
    TRY(read_type(f, &s));
    TRY(read_shape(f, &s));
    order = value_of(f, "'fortran_order'");
    if (!order || (strncmp(order, "True", 4) && strncmp(order, "False", 5)))
        return FAIL(BAD_FILE, "%s: its header has no fortran_order", f->name);
    need = op_shape_count(&s) * op_type_bytes(s.type);
    if (need != f->bytes - f->body)
        return FAIL(BAD_FILE, "%s: %zu bytes of elements; its shape needs %llu", f->name,
                    f->bytes - f->body, (unsigned long long)need);
    TRY(op_tensor_unpack(&s, f->data + f->body, out));
    return *order == 'T' && s.rank > 1 && need ? from_fortran(out) : EMU_OK;
}

enum emu_status npy_read(const void *data, size_t bytes, const char *name, struct op_tensor *out)
{
    struct npy_file *f = emu_alloc(1, sizeof(*f));
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    if (!f)
        return FAIL(NO_MEMORY, "%s", name);
    f->data = data;
    f->bytes = bytes;
    f->name = name;
    s = read_file(f, out);
    emu_free(f);
    return s;
}

/* ---- writing ---- */

enum emu_status npy_write(const struct op_tensor *t, FILE *f)
{
    const struct op_shape *s = &t->shape;
    uint64_t n = op_shape_count(s) * op_type_bytes(s->type);
    char header[512] = "", length[2];
    const char *code = NULL;
    size_t used, padded;
    void *data;

    for (unsigned k = 0; k < EMU_COUNT_OF(types); k++) {
        if (types[k].type == s->type)
            code = types[k].code;
    }
    if (!code)
        return FAIL(BAD_FILE, ".npy files have no type %s", op_type_text(s->type));
    data = emu_alloc(n + 1, 1);
    if (!data)
        return FAIL(NO_MEMORY, "a .npy file");
    used = (size_t)snprintf(header, sizeof(header), "{'descr': '%s%s', 'fortran_order': False, ",
                            op_type_bytes(s->type) > 1 ? "<" : "|", code);
    used += (size_t)snprintf(header + used, sizeof(header) - used, "'shape': (");
    for (unsigned d = 0; d < s->rank; d++)
        used += (size_t)snprintf(header + used, sizeof(header) - used, "%u,%s", s->dim[d],
                                 d + 1 < s->rank ? " " : "");
    used += (size_t)snprintf(header + used, sizeof(header) - used, "), }");
    padded = (PRELUDE + 2 + used + 1 + ALIGN - 1) / ALIGN * ALIGN - (PRELUDE + 2);
    memset(header + used, ' ', padded - used);
    header[padded - 1] = '\n';
    length[0] = (char)(padded & 0xff);
    length[1] = (char)(padded >> 8);
    fwrite("\x93NUMPY\1", 1, PRELUDE, f);
    fwrite(length, 1, sizeof(length), f);
    fwrite(header, 1, padded, f);
    op_tensor_pack(t, data);
    fwrite(data, 1, n, f);
    emu_free(data);
    return EMU_OK;
}
