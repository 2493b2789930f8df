/* stream_report.c - the answer of a stream: bytes, times, overlap, bound (see stream_report.h). */
#include "models/stream/stream_report.h"

#include <inttypes.h>

#include "emu/arch/arch_numbers.h"
#include "models/stream/stream_timeline.h"
#include "programs/compiler/report/count_text.h"

enum { TABLE_ROWS = 12 };

static double seconds(const struct arch *a, double cycles)
{
    return cycles / (1e6 * a->clock_mhz);
}

/* Which part of the shorter of the two, fetching and computing, ran at the same time as the other.
 */
static double overlap_of(const struct stream_record *r)
{
    double fetch = r->rule[STREAM_BY_HOST], work = r->rule[STREAM_BY_COMPUTE];
    double less = fetch < work ? fetch : work, hidden = fetch + work - r->period;

    return less <= 0 || hidden < 0 ? 0 : hidden > less ? 1 : hidden / less;
}

static double pictures_per_s(const struct stream_answer *a)
{
    return a->record->period > 0 ? a->net->batch / seconds(a->arch, a->record->period) : 0;
}

static const char *input_name(const struct stream_answer *a)
{
    return ss_elem_name(a->options->input);
}

/* ---- text ---- */

static void print_head(const struct stream_answer *a, FILE *f)
{
    const struct prefetch_options *o = &a->options->lower.loop.link;
    const struct stream_record *r = a->record;
    char recipe[RECIPE_TEXT];

    fprintf(f, "network     %s, %s, %u a batch, pictures of %u x %u as %s, %s bytes a batch\n",
            a->net->name, a->precision.at, a->net->batch, a->net->recipe.width,
            a->net->recipe.height, input_name(a), count_text(r->batch_bytes).at);
    fprintf(f, "prepared    %s\n", picture_recipe_text(&a->net->recipe, recipe));
    fprintf(f, "machine     %s, %s tiles at %u MHz\n", ss_arch_title(a->arch).at,
            count_text(a->arch->tiles).at, a->arch->clock_mhz);
    fprintf(f, "tiles       %s compute", count_text(a->arch->tiles - o->tiles).at);
    if (o->tiles)
        fprintf(f, ", %u IO: %u buffer%s of %u tiles, %s bytes each", o->tiles,
                o->depth ? o->depth : 1, o->depth > 1 ? "s" : "", a->loop->buffer_tiles,
                count_text(a->loop->buffer_bytes).at);
    fprintf(f, "\nprefetch    %u\n", o->depth);
    fprintf(f, "link        %u MB/s, %u ns", arch_host_link_mbytes_per_s(a->arch),
            arch_host_latency_ns(a->arch));
    if (a->options->session.host.jitter_ns)
        fprintf(f, ", up to %u ns late", a->options->session.host.jitter_ns);
    fprintf(f, "; in %s bytes, ", count_text(r->bytes_in).at);
    fprintf(f, "out %s, busy %.1f %%\n", count_text(r->bytes_out).at,
            r->cycles ? 100.0 * (double)r->link_cycles / (double)r->cycles : 0);
    fprintf(f, "pictures    %s in ", count_text(r->pictures).at);
    fprintf(f, "%s batches, ", count_text(r->batches).at);
    fprintf(f, "%s cycles%s\n", count_text(r->cycles).at, r->stopped ? "; stopped" : "");
    fprintf(f, "digest      %s\n", a->digest);
}

static void print_mean(const struct stream_answer *a, FILE *f, const char *what, double cycles)
{
    fprintf(f, "  %-22s %12.0f %10.3f ms\n", what, cycles, 1e3 * seconds(a->arch, cycles));
}

static void print_rule(const struct stream_answer *a, FILE *f)
{
    const struct stream_record *r = a->record;

    fprintf(f, "\nbound by the %s:\n", stream_bound_name(r->bound));
    print_mean(a, f, "bytes / bandwidth", r->rule[STREAM_BY_HOST]);
    if (a->options->lower.loop.link.depth)
        print_mean(a, f, "way to the host / depth", r->rule[STREAM_BY_IO]);
    print_mean(a, f, "join and computing", r->rule[STREAM_BY_COMPUTE]);
    fprintf(f, "  so %s expected: %.0f cycles, measured %+.2f %%\n",
            a->options->lower.loop.link.depth ? "the longest of them is"
                                              : "their sum and the ways are",
            r->expected, r->expected > 0 ? 100 * (r->period / r->expected - 1) : 0);
}

static void print_row(const struct stream_record *r, size_t i, FILE *f)
{
    const struct stream_batch *b = &r->row[i];
    uint64_t next = i + 1 < r->rows ? b[1].joined ? b[1].joined : b[1].asked : 0;
    uint64_t begin = b->joined ? b->joined : b->asked;

    fprintf(f, "%7zu %8u %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %12" PRIu64, i, b->pictures,
            begin, b->here - b->asked, b->joined ? b->computing - b->joined : 0,
            b->computed - b->computing);
    if (next > b->computed)
        fprintf(f, " %10" PRIu64, next - b->computed);
    fprintf(f, "\n");
}

static void print_rows(const struct stream_record *r, FILE *f)
{
    size_t n = r->batches < r->rows ? (size_t)r->batches : r->rows;

    fprintf(f, "\n%7s %8s %12s %10s %10s %12s %10s\n", "batch", "pictures", "begins", "transfer",
            "join", "compute", "waiting");
    for (size_t i = 0; i < n; i++) {
        if (n > TABLE_ROWS && i == TABLE_ROWS / 2) {
            fprintf(f, "    ...\n");
            i = n - TABLE_ROWS / 2;
        }
        print_row(r, i, f);
    }
}

void stream_report(const struct stream_answer *a, FILE *f)
{
    const struct stream_record *r = a->record;

    print_head(a, f);
    if (!r->batches)
        return;
    print_rows(r, f);
    if (r->end <= r->first)
        return;
    fprintf(f, "\nmeans of batches %zu to %zu:\n", r->first, r->end - 1);
    print_mean(a, f, "from batch to batch", r->period);
    print_mean(a, f, "  join", r->join);
    print_mean(a, f, "  compute", r->compute);
    print_mean(a, f, "  waiting", r->wait);
    print_mean(a, f, "transfer, with its way", r->transfer);
    fprintf(f, "  %-22s %12.1f\n", "pictures a second", pictures_per_s(a));
    fprintf(f, "  %-22s %12.1f %%\n", "overlap", 100 * overlap_of(r));
    print_rule(a, f);
    stream_timeline(r, f);
}

/* ---- JSON ---- */

static json_t *rows_json(const struct stream_record *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->rows && i < r->batches; i++) {
        const struct stream_batch *b = &r->row[i];

        json_array_append_new(
            list, json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "pictures",
                            (json_int_t)b->pictures, "asked", (json_int_t)b->asked, "begun",
                            (json_int_t)b->begun, "here", (json_int_t)b->here, "joined",
                            (json_int_t)b->joined, "computing", (json_int_t)b->computing,
                            "computed", (json_int_t)b->computed, "taken", (json_int_t)b->taken));
    }
    return list;
}

/* Which network runs on which machine. */
static json_t *head_json(const struct stream_answer *a)
{
    const struct prefetch_options *o = &a->options->lower.loop.link;
    char recipe[RECIPE_TEXT];

    return json_pack(
        "{s:s,s:s,s:s,s:s,s:I,s:I,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "network", a->net->name,
        "precision", a->precision.at, "preprocessing", picture_recipe_text(&a->net->recipe, recipe),
        "machine", a->arch->name, "clock_mhz", (json_int_t)a->arch->clock_mhz, "batch",
        (json_int_t)a->net->batch, "resolution", (json_int_t)a->net->recipe.width, "input_type",
        input_name(a), "compute_tiles", (json_int_t)(a->arch->tiles - o->tiles), "io_tiles",
        (json_int_t)o->tiles, "prefetch", (json_int_t)o->depth, "buffer_tiles",
        (json_int_t)a->loop->buffer_tiles, "buffer_bytes", (json_int_t)a->loop->buffer_bytes,
        "link_mbytes_per_s", (json_int_t)arch_host_link_mbytes_per_s(a->arch));
}

static json_t *counts_json(const struct stream_answer *a)
{
    const struct stream_record *r = a->record;

    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:s}", "batch_bytes", (json_int_t)r->batch_bytes,
                     "bytes_in", (json_int_t)r->bytes_in, "bytes_out", (json_int_t)r->bytes_out,
                     "pictures", (json_int_t)r->pictures, "batches", (json_int_t)r->batches,
                     "cycles", (json_int_t)r->cycles, "stopped", r->stopped, "digest", a->digest);
}

/* Means over the steady part. */
static json_t *steady_json(const struct stream_answer *a)
{
    const struct stream_record *r = a->record;

    return json_pack("{s:I,s:I,s:f,s:f,s:f,s:f,s:f,s:f,s:f}", "first", (json_int_t)r->first, "end",
                     (json_int_t)r->end, "period", r->period, "transfer", r->transfer, "join",
                     r->join, "compute", r->compute, "waiting", r->wait, "pictures_per_second",
                     pictures_per_s(a), "overlap", overlap_of(r));
}

static json_t *rule_json(const struct stream_record *r)
{
    return json_pack("{s:f,s:f,s:f,s:f,s:s}", "host_cycles", r->rule[STREAM_BY_HOST], "io_cycles",
                     r->rule[STREAM_BY_IO], "compute_cycles", r->rule[STREAM_BY_COMPUTE],
                     "expected_period", r->expected, "bound", stream_bound_name(r->bound));
}

/* Where the pictures came from, and whether that was all of them. */
static json_t *source_json(const struct stream_answer *a)
{
    return json_pack("{s:{s:I,s:I,s:I},s:b}", "files", "good", (json_int_t)a->files.good, "bad",
                     (json_int_t)a->files.bad, "other", (json_int_t)a->files.other, "interrupted",
                     a->interrupted);
}

json_t *stream_report_json(const struct stream_answer *a)
{
    json_t *all = head_json(a);

    if (json_object_set_new(all, "machine_changes", ss_arch_changes(a->arch)) ||
        json_object_update_new(all, source_json(a)) ||
        json_object_update_new(all, counts_json(a)) ||
        json_object_set_new(all, "steady", steady_json(a)) ||
        json_object_set_new(all, "rule", rule_json(a->record)) ||
        json_object_set_new(all, "rows", rows_json(a->record))) {
        json_decref(all);
        return NULL;
    }
    return all;
}
