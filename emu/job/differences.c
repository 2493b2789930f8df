/* differences.c - elements, numbers and ranges compared; a bounded list of what differs. */
#include "emu/job/differences.h"

#include <inttypes.h>
#include <math.h>

#include "emu/base/alloc.h"
#include "emu/base/fp.h"

json_t *case_element_json(enum case_type t, uint32_t bits)
{
    char text[16];
    double v;

    if (!case_type_is_float(t))
        return json_integer((json_int_t)case_bits_value(t, bits));
    v = case_bits_value(t, bits);
    if (!isnan(v) && !isinf(v))
        return json_real(v);
    if (isinf(v))
        return json_string(v < 0 ? "-inf" : "inf");
    if (bits == (t == CASE_F16 ? FP_F16_NAN : FP_F32_NAN))
        return json_string("nan");
    snprintf(text, sizeof(text), "0x%x", bits);
    return json_string(text);
}

json_t *case_word_json(uint32_t v)
{
    return json_sprintf("0x%08x", v);
}

int case_elements_agree(enum case_type t, uint32_t want, uint32_t got, double tolerance,
                        double relative)
{
    double w, g;

    if (want == got)
        return 1;
    if (tolerance == 0 && relative == 0)
        return 0;
    w = case_bits_value(t, want);
    g = case_bits_value(t, got);
    if (isnan(w) || isnan(g))
        return isnan(w) && isnan(g);
    return w == g || (!isinf(w) && fabs(g - w) <= tolerance + relative * fabs(w));
}

enum emu_status differences_add(struct differences *d, const char *what, json_t *want, json_t *got)
{
    json_t *entry;

    if (d->total++ >= d->listed_max) {
        json_decref(want);
        json_decref(got);
        return EMU_OK;
    }
    entry = json_pack("{s:s, s:o, s:o}", "what", what, "expected", want, "got", got);
    if (!entry || json_array_append_new(d->list, entry))
        return FAIL(NO_MEMORY, "the list of differences");
    return EMU_OK;
}

enum emu_status differences_range(struct differences *d, const char *what,
                                  const struct json_range *r, uint64_t got)
{
    json_t *want;

    if (!r->is_set)
        return EMU_OK;
    d->checked++;
    if (got >= r->low && got <= r->high)
        return EMU_OK;
    want = r->low == r->high ? json_integer((json_int_t)r->low)
                             : json_pack("[I, I]", (json_int_t)r->low, (json_int_t)r->high);
    return differences_add(d, what, want, json_integer((json_int_t)got));
}

enum emu_status differences_elements(struct differences *d, const struct expected_elements *e)
{
    struct case_data want = { .type = e->type }, got = { .type = e->type };

    want.data = (uint8_t *)(uintptr_t)e->want; /* only read */
    got.data = (uint8_t *)(uintptr_t)e->got;
    for (uint32_t i = 0; i < e->count; i++) {
        uint32_t a = case_element_bits(&want, i), b = case_element_bits(&got, i);
        char what[360];

        d->checked++;
        if (case_elements_agree(e->type, a, b, e->tolerance, e->relative))
            continue;
        snprintf(what, sizeof(what), "%.300s[%" PRIu32 "]", e->where, e->from + i);
        TRY(differences_add(d, what, case_element_json(e->type, a), case_element_json(e->type, b)));
    }
    return EMU_OK;
}

enum emu_status differences_values(struct differences *d, const struct manifest_data *want,
                                   const struct data_place *place, const struct manifest_program *p,
                                   const struct asm_image *code, struct expected_elements *e)
{
    uint32_t bytes = manifest_data_bytes(want);
    uint8_t *values = emu_alloc((size_t)bytes + 1, 1);
    enum emu_status s = values
                            ? program_fill_values(p, code, want, place, d->file, e->where, values)
                            : FAIL(NO_MEMORY, "%" PRIu32 " expected bytes", bytes);

    e->type = want->data.type == CASE_BYTES ? CASE_U8 : want->data.type;
    e->count = want->elements;
    e->want = values;
    if (s == EMU_OK)
        s = differences_elements(d, e);
    ss_free(values);
    return s;
}
