/* run_profile.c - how a run ended, and what crossed the host link, as rows of a profile. */
#include "emu/job/run_profile.h"

#include "emu/base/alloc.h"
#include "emu/base/hash.h"

static const char *status_text(const struct run *r)
{
    static const char *const text[] = {
        [MACHINE_HOST] = "ok",           [MACHINE_FAULT] = "fault", [MACHINE_OUTER] = "error",
        [MACHINE_DEADLOCK] = "deadlock", [MACHINE_LIMIT] = "limit", [MACHINE_ERROR] = "error"
    };

    return text[r->stop];
}

static void add_end(struct profile *p, const struct run *r)
{
    const struct arch *a = ss_image_arch(r->im);
    uint64_t cycles = pod_cycles(r->pod), left_out = 0;
    char digest[33], note[RUN_ENGINE_TEXT];

    for (uint32_t chip = 0; chip < r->chips; chip++)
        left_out += record_left_out(r->chip[chip].record);
    PROFILE_ROW(p, "meta", PROFILE_T("status"), PROFILE_T(status_text(r)));
    PROFILE_ROW(p, "meta", PROFILE_T("cycles"), PROFILE_I(cycles));
    PROFILE_ROW(p, "meta", PROFILE_T("seconds"),
                PROFILE_R((double)cycles / ((double)a->clock_mhz * 1e6)));
    PROFILE_ROW(p, "meta", PROFILE_T("supersteps_left_out"), PROFILE_I(left_out));
    PROFILE_ROW(p, "meta", PROFILE_T("engine"),
                PROFILE_T(ss_run_has_values(r) ? "values" : "timing"));
    ss_run_engine_note(r, note);
    if (*note)
        PROFILE_ROW(p, "meta", PROFILE_T("engine_note"), PROFILE_T(note));
    if (!ss_run_has_values(r))
        return;
    hash128_text(pod_digest(r->pod), digest);
    PROFILE_ROW(p, "meta", PROFILE_T("digest"), PROFILE_T(digest));
}

static enum emu_status add_fault(struct profile *p, const struct run *r)
{
    char *text;

    if (ss_run_ended(r))
        return EMU_OK;
    text = ss_run_stop_text(r);
    if (!text)
        return FAIL(NO_MEMORY, "a message");
    if (r->stop == MACHINE_FAULT) {
        uint32_t chip;
        struct machine_fault f = run_fault(r, &chip);

        PROFILE_ROW(p, "faults", PROFILE_T("fault"), PROFILE_T(text), PROFILE_I(chip),
                    PROFILE_I(f.tile), PROFILE_I(f.superstep), PROFILE_I(f.fault->cycle));
    } else {
        PROFILE_ROW(p, "faults", PROFILE_T("stop"), PROFILE_T(text), PROFILE_N, PROFILE_N,
                    PROFILE_N, PROFILE_N);
    }
    ss_free(text);
    return EMU_OK;
}

static void add_transfers(struct profile *p, const struct run *r, uint32_t chip, uint32_t id)
{
    const struct host *host = r->chip[chip].host;
    size_t n = 0;
    const struct host_transfer *t = host ? host_transfers(host, id, &n) : NULL;

    for (size_t i = 0; i < n; i++)
        PROFILE_ROW(p, "transfers", PROFILE_I(chip), PROFILE_I(id), PROFILE_I(t[i].tile),
                    PROFILE_I(t[i].bytes), PROFILE_I(t[i].issued), PROFILE_I(t[i].arrived));
}

static void add_streams(struct profile *p, const struct run *r, uint32_t chip)
{
    const struct host *host = r->chip[chip].host;
    static const struct host_stream_record none = { 0 };

    for (size_t i = 0; i < image_stream_count(r->im); i++) {
        const struct image_stream *s = image_stream_at(r->im, i);
        const struct host_stream_record *h = host ? host_record(host, s->id) : NULL;

        if (s->chip != run_stage(r, chip))
            continue;
        h = h ? h : &none;
        PROFILE_ROW(p, "streams", PROFILE_I(chip), PROFILE_I(s->id),
                    PROFILE_T(image_text(r->im, s->name)),
                    PROFILE_T(s->direction == STREAM_TO_HOST ? "to_host" : "to_tiles"),
                    PROFILE_I(h->transfers), PROFILE_I(h->bytes), PROFILE_I(h->packets),
                    PROFILE_I(h->busy_cycles), PROFILE_I(h->waiting_cycles),
                    PROFILE_I(h->starved_cycles), PROFILE_I(h->latency_cycles_max));
        add_transfers(p, r, chip, s->id);
    }
}

enum emu_status run_profile(struct profile *p, struct run *r, const uint32_t *layer, size_t layers)
{
    add_end(p, r);
    TRY(add_fault(p, r));
    profile_add_program(p, r->im);
    for (uint32_t chip = 0; chip < r->chips; chip++) {
        const struct profile_chip row = {
            .chip = chip, .record = r->chip[chip].record, .layer = layer, .layers = layers
        };

        add_streams(p, r, chip);
        TRY(profile_add_chip(p, r->im, &row));
    }
    profile_add_pod(p, r->pod);
    return EMU_OK;
}
