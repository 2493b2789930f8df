/* npy_file.c - a magic number, the version, the length of a header, the header, the elements. The
 * header is the text of a dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }.
 */
#include "emu/base/npy_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"

enum { PRELUDE = 8, HEADER_MAX = 65536, ALIGN = 64 };

static const char types[][3] = { "f2", "f4", "f8", "i1", "i2", "i4",
                                 "i8", "u1", "u2", "u4", "u8", "b1" };

/* ---- reading ---- */

/* What is being read; messages name it. */
struct npy_text {
    const uint8_t *data;
    size_t bytes;
    const char *name;
    char header[HEADER_MAX + 1];
    size_t body; /* where the elements begin */
};

/* What follows a key of the dictionary; NULL: the key is missing. */
static const char *value_of(const struct npy_text *f, const char *key)
{
    const char *at = strstr(f->header, key);

    if (!at)
        return NULL;
    at += strlen(key);
    at += strspn(at, " :");
    return at;
}

static enum emu_status read_header(struct npy_text *f)
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

static enum emu_status read_type(const struct npy_text *f, struct npy_array *a)
{
    const char *at = value_of(f, "'descr'");

    if (at && *at == '\'' && at[1] && strchr("<|=", at[1])) {
        for (unsigned k = 0; k < EMU_COUNT_OF(types); k++) {
            if (!strncmp(at + 2, types[k], 2) && at[4] == '\'') {
                memcpy(a->type, types[k], sizeof(a->type));
                a->unit = (unsigned)(types[k][1] - '0');
            }
        }
    }
    return a->unit ? EMU_OK
                   : FAIL(BAD_FILE,
                          "%s: its type is %.12s; expected little-endian f2, f4, f8, i1 to i8, u1 "
                          "to u8 or b1",
                          f->name, at ? at : "missing");
}

static enum emu_status read_shape(const struct npy_text *f, struct npy_array *a)
{
    const char *at = value_of(f, "'shape'");

    if (!at || *at++ != '(')
        return FAIL(BAD_FILE, "%s: its header has no shape", f->name);
    for (;;) {
        uint64_t n = 0;

        at += strspn(at, " ,");
        if (*at == ')')
            break;
        if (*at < '0' || *at > '9' || a->rank == NPY_RANK_MAX)
            return FAIL(BAD_FILE, "%s: its shape; expected up to %d sizes", f->name, NPY_RANK_MAX);
        for (; *at >= '0' && *at <= '9'; at++) {
            n = 10 * n + (uint64_t)(*at - '0');
            if (n > UINT32_MAX)
                return FAIL(BAD_FILE, "%s: a dimension beyond 2^32", f->name);
        }
        a->dim[a->rank++] = (uint32_t)n;
    }
    a->elements = 1;
    for (unsigned d = 0; d < a->rank; d++) {
        a->elements *= a->dim[d];
        if (a->elements > UINT32_MAX)
            return FAIL(BAD_FILE, "%s: more than 2^32 elements", f->name);
    }
    return EMU_OK;
}

static enum emu_status read_file(struct npy_text *f, struct npy_array *out)
{
    const char *order;
    uint64_t need;

    TRY(read_header(f));
    TRY(read_type(f, out));
    TRY(read_shape(f, out));
    order = value_of(f, "'fortran_order'");
    if (!order || (strncmp(order, "True", 4) && strncmp(order, "False", 5)))
        return FAIL(BAD_FILE, "%s: its header has no fortran_order", f->name);
    need = out->elements * out->unit;
    if (need != f->bytes - f->body)
        return FAIL(BAD_FILE, "%s: %zu bytes of elements; its shape needs %llu", f->name,
                    f->bytes - f->body, (unsigned long long)need);
    out->fortran = *order == 'T' && out->rank > 1 && need;
    out->data = f->data + f->body;
    return EMU_OK;
}

enum emu_status npy_find(const void *data, size_t bytes, const char *name, struct npy_array *out)
{
    struct npy_text *f = emu_alloc(1, sizeof(*f));
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    if (!f)
        return FAIL(NO_MEMORY, "%s", name);
    f->data = data;
    f->bytes = bytes;
    f->name = name;
    s = read_file(f, out);
    ss_free(f);
    return s;
}

static enum emu_status load(const char *path, FILE *f, void **file, size_t *bytes)
{
    struct stat st;

    if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode))
        return FAIL(IO, "%s: expected a file", path);
    *bytes = (size_t)st.st_size;
    *file = emu_alloc(*bytes + 1, 1);
    if (!*file)
        return FAIL(NO_MEMORY, "%s: %zu bytes", path, *bytes);
    return fread(*file, 1, *bytes, f) == *bytes ? EMU_OK
                                                : FAIL(IO, "%s: %s", path, strerror(errno));
}

enum emu_status npy_load(const char *path, void **file, struct npy_array *out)
{
    FILE *f = fopen(path, "rb");
    enum emu_status s;
    size_t bytes = 0;

    *file = NULL;
    if (!f)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    s = load(path, f, file, &bytes);
    fclose(f);
    return s == EMU_OK ? npy_find(*file, bytes, path, out) : s;
}

double npy_number(const struct npy_array *a, uint64_t k)
{
    const uint8_t *at = a->data + k * a->unit;
    uint64_t bits = 0, sign;
    double value;

    memcpy(&bits, at, a->unit); /* little endian */
    if (a->type[0] == 'f') {
        memcpy(&value, &bits, sizeof(value));
        return a->unit == 8   ? value
               : a->unit == 4 ? (double)fp_float((uint32_t)bits)
                              : fp_f16_value((uint16_t)bits);
    }
    sign = UINT64_C(1) << (8 * a->unit - 1);
    if (a->type[0] == 'i' && bits & sign)
        return -(double)((~bits & (sign - 1)) + 1);
    return (double)bits;
}

/* ---- writing ---- */

void npy_write_header(const char *type, unsigned rank, const uint32_t *dim, FILE *f)
{
    char header[512] = "", length[2];
    size_t used, padded;

    used = (size_t)snprintf(header, sizeof(header), "{'descr': '%s%s', 'fortran_order': False, ",
                            type[1] > '1' ? "<" : "|", type);
    used += (size_t)snprintf(header + used, sizeof(header) - used, "'shape': (");
    for (unsigned d = 0; d < rank; d++)
        used += (size_t)snprintf(header + used, sizeof(header) - used, "%u,%s", dim[d],
                                 d + 1 < rank ? " " : "");
    used += (size_t)snprintf(header + used, sizeof(header) - used, "), }");
    padded = (PRELUDE + 2 + used + 1 + ALIGN - 1) / ALIGN * ALIGN - (PRELUDE + 2);
    memset(header + used, ' ', padded - used);
    header[padded - 1] = '\n';
    length[0] = (char)(padded & 0xff);
    length[1] = (char)(padded >> 8);
    fwrite("\x93NUMPY\1", 1, PRELUDE, f);
    fwrite(length, 1, sizeof(length), f);
    fwrite(header, 1, padded, f);
}
