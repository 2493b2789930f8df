/* weights_file.c - reads and writes parameters as safetensors files. A file is checked as a whole
 * before a single value is taken from it. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/base/alloc.h"
#include "emu/base/output_file.h"
#include "models/weights/names.h"
#include "models/weights/safetensors.h"

/* The tensors of a file by name, and what was found wrong. */
struct weights_reading {
    const struct net *net;
    const struct weights *w;
    const struct safetensor **tensor; /* owned; sorted by name */
    const struct safetensor **match;  /* owned; of each parameter */
    size_t tensors;
    enum name_scheme scheme;
    FILE *list;      /* NULL allowed */
    uint32_t listed; /* lines of the list, including those for which it had no room */
    uint32_t missing, unexpected, misshapen, unfit;
};

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct safetensor *const *)a)->name,
                  (*(const struct safetensor *const *)b)->name);
}

static const struct safetensor *find(const struct weights_reading *r, const char *name)
{
    const struct safetensor key = { .name = name }, *k = &key, **found;

    found = bsearch(&k, r->tensor, r->tensors, sizeof(k), by_name);
    return found ? *found : NULL;
}

static const char *suffix_of(const struct param *p)
{
    return strrchr(p->name, '.') + 1;
}

static void param_name(const struct weights_reading *r, uint32_t i, enum name_scheme s,
                       char out[96])
{
    names_make(r->net, s, i, r->net->param[i].suffix, out);
}

/* The scheme of most names in the file; torchvision's if both have equally many. */
static enum name_scheme detect(const struct weights_reading *r)
{
    uint32_t hits[NAMES_SCHEMES] = { 0 };
    char name[96];

    for (unsigned s = 0; s < NAMES_SCHEMES; s++) {
        for (uint32_t i = 0; i < r->net->params; i++) {
            param_name(r, i, (enum name_scheme)s, name);
            hits[s] += find(r, name) != NULL;
        }
    }
    return hits[NAMES_TIMM] > hits[NAMES_TORCHVISION] ? NAMES_TIMM : NAMES_TORCHVISION;
}

/* Adds a line to the list while there is room in it. */
EMU_PRINTF(2, 3) static void say(struct weights_reading *r, const char *fmt, ...)
{
    va_list ap;

    if (!r->list || r->listed++ >= WEIGHTS_LISTED)
        return;
    va_start(ap, fmt);
    vfprintf(r->list, fmt, ap);
    va_end(ap);
}

static int same_shape(const struct param *p, const struct safetensor *t)
{
    if (p->rank != t->rank)
        return 0;
    for (unsigned i = 0; i < p->rank; i++) {
        if (p->shape[i] != t->shape[i])
            return 0;
    }
    return 1;
}

static void shape_text(const struct param *p, char out[64])
{
    int n = snprintf(out, 64, "[");

    for (unsigned i = 0; i < p->rank; i++)
        n += snprintf(out + n, 64 - (size_t)n, "%s%u", i ? ", " : "", p->shape[i]);
    snprintf(out + n, 64 - (size_t)n, "]");
}

/* Why the network cannot use this tensor; NULL: it can. */
static const char *unfit(const struct param *p, const struct safetensor *t)
{
    int variance = !strcmp(suffix_of(p), "running_var");
    float v;
    struct safetensor one = *t;
    size_t bytes = t->type == SAFETENSORS_F32 ? 4 : 2;

    one.elements = 1;
    for (uint64_t i = 0; i < t->elements; i++) {
        one.data = (const uint8_t *)t->data + i * bytes;
        safetensors_to_f32(&one, &v);
        if (!isfinite(v))
            return "has a value that is not finite";
        if (variance && v < 0)
            return "has a variance below zero";
    }
    return NULL;
}

static void check_param(struct weights_reading *r, uint32_t i)
{
    const struct param *p = &r->w->param[i];
    const struct safetensor *t;
    char name[96], want[64], got[200];
    const char *why;

    param_name(r, i, r->scheme, name);
    t = r->match[i] = find(r, name);
    shape_text(p, want);
    if (!t) {
        r->missing++;
        say(r, "missing %s %s\n", name, want);
        return;
    }
    safetensors_text(t, got);
    if (!same_shape(p, t)) {
        r->misshapen++;
        say(r, "misshapen %s: expected %s, the file has %s\n", name, want, got);
    } else if (!safetensors_is_real(t)) {
        r->unfit++;
        say(r, "unfit %s: expected F32, F16 or BF16, the file has %s\n", name, got);
    } else if ((why = unfit(p, t))) {
        r->unfit++;
        say(r, "unfit %s: %s\n", name, why);
    }
}

/* Whether a tensor is one of torch's num_batches_tracked, which are no parameters and not needed.
 */
static int is_counter(const struct weights_reading *r, const struct safetensor *t)
{
    const char *suffix = strrchr(t->name, '.');
    char name[96];

    if (!suffix || strcmp(suffix, ".num_batches_tracked"))
        return 0;
    for (uint32_t i = 0; i < r->w->params; i++) {
        if (strcmp(r->net->param[i].suffix, "running_mean"))
            continue;
        names_make(r->net, r->scheme, i, "num_batches_tracked", name);
        if (!strcmp(name, t->name))
            return t->elements == 1;
    }
    return 0;
}

static int compare_pointers(const void *a, const void *b)
{
    const struct safetensor *x = *(const struct safetensor *const *)a;
    const struct safetensor *y = *(const struct safetensor *const *)b;

    return (x > y) - (x < y);
}

/* Finds tensors that are no parameters of the network. Looks them up in a sorted copy, because the
 * matches themselves must stay in the order of parameters. */
static enum emu_status check_unexpected(struct weights_reading *r)
{
    const struct safetensor **used = emu_alloc(r->w->params + 1u, sizeof(const void *));
    char text[200];

    if (!used)
        return FAIL(NO_MEMORY, "a list of tensors");
    memcpy(used, r->match, r->w->params * sizeof(*used));
    qsort(used, r->w->params, sizeof(*used), compare_pointers);
    for (size_t i = 0; i < r->tensors; i++) {
        const struct safetensor *t = r->tensor[i];

        if (bsearch(&t, used, r->w->params, sizeof(t), compare_pointers) || is_counter(r, t))
            continue;
        safetensors_text(t, text);
        r->unexpected++;
        say(r, "unexpected %.200s %s\n", t->name, text);
    }
    ss_free(used);
    return EMU_OK;
}

/* ---- whose they are ---- */

/* Whether the file has exactly the parameters of a network, with any number of classes. */
static int is_of(const struct weights_reading *r, const struct net *n, const struct weights *w)
{
    struct weights_reading other = { .net = n, .w = w, .tensor = r->tensor, .tensors = r->tensors };
    size_t rest = r->tensors;
    char name[96];

    other.scheme = detect(&other);
    for (size_t i = 0; i < r->tensors; i++)
        rest -= is_counter(&other, r->tensor[i]) != 0;
    if (rest != w->params)
        return 0;
    for (uint32_t i = 0; i < w->params; i++) {
        const struct safetensor *t;

        param_name(&other, i, other.scheme, name);
        t = find(&other, name);
        if (!t || (!same_shape(&w->param[i], t) && n->param[i].role != PARAM_CLASSIFIER))
            return 0;
    }
    return 1;
}

/* The name of the network that has these tensors; NULL if no network of the table does. */
static const char *find_owner(const struct weights_reading *r)
{
    const char *owner = NULL;

    for (unsigned i = 0; net_name(i) && !owner; i++) {
        struct weights *w = NULL;
        struct net *n = NULL;

        if (net_new(net_name(i), NULL, &n) == EMU_OK && weights_new_shapes(n, &w) == EMU_OK &&
            is_of(r, n, w))
            owner = net_name(i);
        weights_free(w);
        net_free(n);
    }
    return owner;
}

static enum emu_status refuse(struct weights_reading *r, const char *name)
{
    const char *owner = find_owner(r);

    if (r->list && r->listed > WEIGHTS_LISTED)
        fprintf(r->list, "and %u more\n", r->listed - WEIGHTS_LISTED);
    if (owner && strcmp(owner, r->net->name))
        return FAIL(BAD_FILE,
                    "%s: these are weights of %s, not of %s: %u tensors missing, %u unexpected, %u "
                    "misshapen",
                    name, owner, r->net->name, r->missing, r->unexpected, r->misshapen);
    return FAIL(BAD_FILE,
                "%s: no weights of %s as %s names them: %u tensors missing, %u unexpected, %u "
                "misshapen, %u with unfit values",
                name, r->net->name, names_text(r->scheme), r->missing, r->unexpected, r->misshapen,
                r->unfit);
}

static enum emu_status check_all(struct weights_reading *r, const char *name)
{
    r->scheme = detect(r);
    for (uint32_t i = 0; i < r->w->params; i++)
        check_param(r, i);
    TRY(check_unexpected(r));
    if (!(r->missing | r->unexpected | r->misshapen | r->unfit))
        return EMU_OK;
    return refuse(r, name);
}

/* Opens a file and sorts its tensors. The caller frees r->tensor, and f. */
static enum emu_status open_file(struct weights_reading *r, const void *data, size_t bytes,
                                 const char *name, struct safetensors *f)
{
    TRY(safetensors_open(data, bytes, name, f));
    r->tensors = f->tensors;
    r->tensor = emu_alloc(f->tensors + 1, sizeof(*r->tensor));
    if (!r->tensor) {
        safetensors_free(f);
        return FAIL(NO_MEMORY, "%s: %zu tensors", name, r->tensors);
    }
    for (size_t i = 0; i < f->tensors; i++)
        r->tensor[i] = &f->tensor[i];
    qsort(r->tensor, r->tensors, sizeof(*r->tensor), by_name);
    return EMU_OK;
}

enum emu_status weights_read_bytes(struct weights *w, const struct net *n, const void *data,
                                   size_t bytes, const char *name, FILE *list)
{
    struct weights_reading r = { .net = n, .w = w, .list = list };
    struct safetensors f;
    enum emu_status s;

    TRY(open_file(&r, data, bytes, name, &f));
    r.match = emu_alloc(w->params + 1u, sizeof(*r.match));
    s = r.match ? check_all(&r, name) : FAIL(NO_MEMORY, "%s: %zu tensors", name, f.tensors);
    if (s == EMU_OK) {
        for (uint32_t i = 0; i < w->params; i++)
            safetensors_to_f32(r.match[i], w->param[i].data);
        w->names = names_text(r.scheme);
    }
    ss_free(r.tensor);
    ss_free(r.match);
    safetensors_free(&f);
    return s;
}

/* Reads the whole file. The caller must ss_free(*out). */
static enum emu_status read_file(const char *path, uint8_t **out, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    enum emu_status s = EMU_OK;
    struct stat st;

    *out = NULL;
    if (!f || fstat(fileno(f), &st)) {
        s = FAIL(IO, "%.200s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        s = FAIL(IO, "%.200s: not a file", path);
    } else {
        *bytes = (size_t)st.st_size;
        *out = emu_alloc(*bytes + 1, 1);
        if (!*out)
            s = FAIL(NO_MEMORY, "%.200s: %zu bytes", path, *bytes);
        else if (fread(*out, 1, *bytes, f) != *bytes)
            s = FAIL(IO, "%.200s: %s", path, ferror(f) ? strerror(errno) : "became shorter");
    }
    if (f)
        fclose(f);
    return s;
}

enum emu_status weights_read(struct weights *w, const struct net *n, const char *path, FILE *list)
{
    uint8_t *data;
    size_t bytes = 0;
    enum emu_status s = read_file(path, &data, &bytes);

    if (s == EMU_OK)
        s = weights_read_bytes(w, n, data, bytes, path, list);
    ss_free(data);
    return s;
}

enum emu_status weights_family(const struct net *n, const char *path, const char **out)
{
    struct weights_reading r = { .net = n };
    struct safetensors f;
    uint8_t *data;
    size_t bytes = 0;
    enum emu_status s = read_file(path, &data, &bytes);

    if (s == EMU_OK)
        s = open_file(&r, data, bytes, path, &f);
    if (s == EMU_OK) {
        *out = names_text(detect(&r));
        ss_free(r.tensor);
        safetensors_free(&f);
    }
    ss_free(data);
    return s;
}

enum emu_status weights_write_to(const struct weights *w, const struct output_file *out)
{
    struct safetensor *t = emu_alloc(w->params + 1u, sizeof(*t));
    enum emu_status s;

    if (!t)
        return FAIL(NO_MEMORY, "%u tensors", w->params);
    for (uint32_t i = 0; i < w->params; i++) {
        const struct param *p = &w->param[i];

        t[i] = (struct safetensor){ .name = p->name,
                                    .type = SAFETENSORS_F32,
                                    .rank = p->rank,
                                    .elements = p->elements,
                                    .bytes = p->elements * sizeof(float),
                                    .data = p->data };
        for (unsigned k = 0; k < p->rank; k++)
            t[i].shape[k] = p->shape[k];
    }
    s = safetensors_write_to(t, w->params, out);
    ss_free(t);
    return s;
}

enum emu_status weights_write(const struct weights *w, const struct net *n, const char *path)
{
    struct output_file *out;

    (void)n;
    TRY(output_open(path, &out));
    return output_end(out, weights_write_to(w, out));
}
