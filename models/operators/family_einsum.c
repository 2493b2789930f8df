/* family_einsum.c - Einsum: sums of products over labelled dimensions.
 *
 * "bij, bjk -> bik": a letter names a dimension of each operand and of the result; letters that the
 * result lacks are summed over. A letter twice in one operand is its diagonal. "..." stands for the
 * dimensions that have no letter: they are broadcast, and are labels like the letters here. Without
 * "->" the result has "..." and, sorted, the letters that occur once.
 */
#include <string.h>

#include "models/operators/op_einsum.h"
#include "models/operators/op_families.h"

enum {
    LETTERS = EINSUM_LETTERS,
    LABELS = EINSUM_LABELS,
    ELLIPSIS = LABELS, /* in a term as it is read */
    OPERANDS = EINSUM_OPERANDS,
    WORK_MAX = 1 << 12 /* products for each number of the operands and the result, at most */
};

/* --- the equation ------------------------------------------------------------------------- */

/* Sorted as ASCII is: upper case first. LABELS: it is no letter. */
static unsigned letter_label(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return (unsigned)(letter - 'A');
    if (letter >= 'a' && letter <= 'z')
        return (unsigned)(letter - 'a') + LETTERS / 2;
    return LABELS;
}

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " ");
}

static int has_dots(const struct einsum_term *t)
{
    return memchr(t->label, ELLIPSIS, t->n) != NULL;
}

/* Reads labels up to what can be none. */
static enum emu_status read_term(struct op_call *c, const char **at, struct einsum_term *t)
{
    for (t->n = 0;; t->n++) {
        unsigned label;

        skip_blanks(at);
        label = letter_label(**at);
        if (!strncmp(*at, "...", 3) && !has_dots(t))
            label = ELLIPSIS;
        else if (label == LABELS)
            return EMU_OK;
        if (t->n == OP_RANK_MAX + 1)
            return op_refuse(c, "more than %d labels in a term", OP_RANK_MAX);
        t->label[t->n] = (uint8_t)label;
        *at += label == ELLIPSIS ? 3 : 1;
    }
}

static enum emu_status read_equation(struct op_call *c, struct einsum *e)
{
    const char *text = op_string(c, "equation"), *at = text;

    for (;;) {
        if (e->operands == OPERANDS)
            return op_refuse(c, "more than %d operands", OPERANDS);
        TRY(read_term(c, &at, &e->in[e->operands++]));
        if (*at != ',')
            break;
        at++;
    }
    if (!strncmp(at, "->", 2)) {
        e->named_out = 1;
        at += 2;
        TRY(read_term(c, &at, &e->out));
    }
    if (*at)
        return op_refuse(c, "equation %.80s: not understood from its character %u on", text,
                         (unsigned)(at - text) + 1);
    if (e->operands != c->ins)
        return op_refuse(c, "equation %.80s has %u operands, not %u", text, e->operands, c->ins);
    return EMU_OK;
}

/* --- labels ------------------------------------------------------------------------------- */

/* Puts the last n labels of "..." where a term has it. */
static enum emu_status expand_dots(struct op_call *c, const struct einsum *e, struct einsum_term *t,
                                   unsigned n)
{
    struct einsum_term all = { .n = 0 };

    for (unsigned k = 0; k < t->n; k++) {
        int dots = t->label[k] == ELLIPSIS;
        unsigned count = dots ? n : 1;

        if (all.n + count > OP_RANK_MAX)
            return op_refuse(c, "more than %d dimensions in a term", OP_RANK_MAX);
        for (unsigned d = 0; d < count; d++)
            all.label[all.n++] = dots ? (uint8_t)(LETTERS + e->dots - n + d) : t->label[k];
    }
    *t = all;
    return EMU_OK;
}

/* Every dimension of the operands gets its label, and every label its size. */
static enum emu_status bind_operands(struct op_call *c, struct einsum *e)
{
    unsigned dots[OPERANDS] = { 0 };

    for (unsigned k = 0; k < e->operands; k++) {
        unsigned rank = c->in[k] ? c->in[k]->rank : 0;
        unsigned letters = e->in[k].n - (unsigned)has_dots(&e->in[k]);

        if (letters > rank || (letters < rank && !has_dots(&e->in[k])))
            return op_refuse(c, "operand %u has %u dimensions, the equation names %u", k, rank,
                             letters);
        dots[k] = rank - letters;
        e->dots = dots[k] > e->dots ? dots[k] : e->dots;
    }
    for (unsigned k = 0; k < e->operands; k++) {
        TRY(expand_dots(c, e, &e->in[k], dots[k]));
        for (unsigned d = 0; d < e->in[k].n; d++) {
            unsigned label = e->in[k].label[d];
            uint32_t size = c->in[k]->dim[d];

            if (e->seen[label]++ && e->size[label] != size && e->size[label] != 1 && size != 1)
                return op_refuse(c, "a label is of %u and of %u elements", e->size[label], size);
            if (e->seen[label] == 1 || e->size[label] == 1)
                e->size[label] = size;
        }
    }
    return EMU_OK;
}

/* The labels of a result that the equation leaves open. */
static enum emu_status imply_result(struct op_call *c, struct einsum *e)
{
    if (e->dots)
        e->out.label[e->out.n++] = ELLIPSIS;
    for (unsigned label = 0; label < LETTERS; label++) {
        if (e->seen[label] != 1)
            continue;
        if (e->out.n == OP_RANK_MAX + 1)
            return op_refuse(c, "the result has more than %d dimensions", OP_RANK_MAX);
        e->out.label[e->out.n++] = (uint8_t)label;
    }
    return EMU_OK;
}

static enum emu_status bind_result(struct op_call *c, struct einsum *e)
{
    uint64_t have = 0;

    if (!e->named_out)
        TRY(imply_result(c, e));
    else if (e->dots && !has_dots(&e->out))
        return op_refuse(c, "the result lacks the dimensions of \"...\"");
    TRY(expand_dots(c, e, &e->out, e->dots));
    for (unsigned d = 0; d < e->out.n; d++) {
        unsigned label = e->out.label[d];

        if (!e->seen[label])
            return op_refuse(c, "a label of the result is in no operand");
        if (have >> label & 1)
            return op_refuse(c, "a label is in the result twice");
        have |= UINT64_C(1) << label;
    }
    return EMU_OK;
}

/* Refuses labels that only multiply the work: "a,b,c,d->" of short lists would take years. */
static enum emu_status check_work(struct op_call *c, const struct einsum *e)
{
    double products = 1, numbers = 1;

    for (unsigned d = 0; d < e->out.n; d++)
        numbers *= e->size[e->out.label[d]];
    for (unsigned k = 0; k < e->operands; k++)
        numbers += (double)op_shape_count(c->in[k]);
    for (unsigned label = 0; label < LABELS; label++)
        products *= e->seen[label] ? e->size[label] : 1;
    if (products > WORK_MAX * numbers)
        return op_refuse(c, "%.3g products of %.3g numbers: at most %d for each are built",
                         products, numbers, WORK_MAX);
    return EMU_OK;
}

enum emu_status op_einsum_of(struct op_call *c, struct einsum *e)
{
    *e = (struct einsum){ .operands = 0 };
    for (uint32_t k = 0; k < c->ins; k++) {
        if (!c->in[k])
            return op_refuse(c, "operand %u is missing", k);
    }
    TRY(read_equation(c, e));
    TRY(bind_operands(c, e));
    TRY(bind_result(c, e));
    return check_work(c, e);
}

static enum emu_status einsum_infer(struct op_call *c)
{
    struct einsum e;

    TRY(op_einsum_of(c, &e));
    c->out[0] = (struct op_shape){ .type = c->in[0]->type, .rank = e.out.n };
    for (unsigned d = 0; d < e.out.n; d++)
        c->out[0].dim[d] = e.size[e.out.label[d]];
    return EMU_OK;
}

/* --- computing ---------------------------------------------------------------------------- */

/* Loops over labels: those of the result, then those that are summed over, at least one. */
struct loops {
    unsigned operands, outer, inner; /* inner: the last one */
    uint32_t size[LABELS + 1];
    uint64_t stride[OPERANDS][LABELS + 1]; /* of an operand, by loop */
    const struct op_tensor *const *in;
};

uint64_t op_einsum_stride(const struct einsum_term *t, const struct op_shape *s, unsigned label)
{
    uint64_t stride = 0;

    for (unsigned d = 0; d < t->n; d++) {
        if (t->label[d] == label && s->dim[d] != 1)
            stride += op_shape_span(s, d + 1, s->rank);
    }
    return stride;
}

static void add_loop(struct loops *l, const struct einsum *e, unsigned label)
{
    l->size[l->inner] = e->size[label];
    for (unsigned k = 0; k < l->operands; k++)
        l->stride[k][l->inner] = op_einsum_stride(&e->in[k], &l->in[k]->shape, label);
    l->inner++;
}

static void make_loops(struct loops *l, const struct einsum *e, const struct op_tensor *const *in)
{
    *l = (struct loops){ .operands = e->operands, .outer = e->out.n, .in = in };
    for (unsigned d = 0; d < e->out.n; d++)
        add_loop(l, e, e->out.label[d]);
    for (unsigned label = 0; label < LABELS; label++) {
        if (e->seen[label] && !memchr(e->out.label, (int)label, e->out.n))
            add_loop(l, e, label);
    }
    if (l->inner == l->outer)
        l->size[l->inner] = 1; /* sums of one product */
    else
        l->inner--;
}

/* Steps to the next elements of the operands, over all summed labels but that of the inner loop.
 * Returns 0 after the last. */
static int step(const struct loops *l, uint32_t index[LABELS], uint64_t at[OPERANDS])
{
    for (unsigned d = l->inner; d-- > l->outer;) {
        int more = ++index[d] < l->size[d];
        uint64_t back = more ? 0 : index[d];

        for (unsigned k = 0; k < l->operands; k++)
            at[k] += l->stride[k][d] * (1 - back);
        if (more)
            return 1;
        index[d] = 0;
    }
    return 0;
}

static double sum_floats(const struct loops *l, const uint64_t at[OPERANDS])
{
    double sum = 0;

    for (uint64_t j = 0; j < l->size[l->inner]; j++) {
        double product = 1;

        for (unsigned k = 0; k < l->operands; k++)
            product *= l->in[k]->f[at[k] + j * l->stride[k][l->inner]];
        sum += product;
    }
    return sum;
}

/* Wraps. */
static uint64_t sum_ints(const struct loops *l, const uint64_t at[OPERANDS])
{
    uint64_t sum = 0;

    for (uint64_t j = 0; j < l->size[l->inner]; j++) {
        uint64_t product = 1;

        for (unsigned k = 0; k < l->operands; k++)
            product *= (uint64_t)l->in[k]->i[at[k] + j * l->stride[k][l->inner]];
        sum += product;
    }
    return sum;
}

/* Element n of the result. */
static void sum_products(const struct loops *l, uint64_t n, struct op_tensor *out)
{
    uint32_t index[LABELS] = { 0 };
    uint64_t at[OPERANDS] = { 0 }, left = n, whole = 0;
    double sum = 0;

    for (unsigned d = l->outer; d-- > 0; left /= l->size[d]) {
        for (unsigned k = 0; k < l->operands; k++)
            at[k] += left % l->size[d] * l->stride[k][d];
    }
    if (op_type_kind(out->shape.type) == OP_KIND_FLOAT) {
        do {
            sum += sum_floats(l, at);
        } while (step(l, index, at));
        out->f[n] = sum;
    } else {
        do {
            whole += sum_ints(l, at);
        } while (step(l, index, at));
        out->i[n] = (int64_t)whole;
    }
}

static enum emu_status einsum_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    int64_t n = (int64_t)op_shape_count(&out->shape);
    struct einsum e;
    struct loops l;

    TRY(op_einsum_of(c, &e));
    make_loops(&l, &e, in);
    for (unsigned d = l.outer; d <= l.inner; d++) {
        if (!l.size[d])
            return EMU_OK; /* sums of nothing */
    }
#pragma omp parallel for if (n > 1)
    for (int64_t k = 0; k < n; k++)
        sum_products(&l, (uint64_t)k, out);
    return EMU_OK;
}

const struct op_family family_einsum = { .infer = einsum_infer,
                                         .ref = einsum_ref,
                                         .gradient = gradient_einsum_node };
