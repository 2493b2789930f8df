/* cmd_cache.c - lists what is kept between runs, or removes it. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "emu/base/alloc.h"
#include "emu/base/disk_cache.h"
#include "emu/base/json_text.h"
#include "emu/cli/commands.h"
#include "emu/cli/emu_commands.h"
#include "emu/job/run_file.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, cache)
OPTION_READ(FLAG, clear)

static double seconds_since(struct timespec t)
{
    struct timespec now;
    double s;

    clock_gettime(CLOCK_REALTIME, &now);
    s = (double)(now.tv_sec - t.tv_sec) + 1e-9 * (double)(now.tv_nsec - t.tv_nsec);
    return s > 0 ? s : 0;
}

/* "12 s", "3 min", "5 h", "8 days". */
static void age_text(double seconds, char out[32])
{
    static const struct {
        double seconds;
        const char *unit;
    } units[] = { { 86400, "days" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
    size_t i = 0;

    while (i + 1 < EMU_COUNT_OF(units) && seconds < 2 * units[i].seconds)
        i++;
    snprintf(out, 32, "%.0f %s", seconds / units[i].seconds, units[i].unit);
}

static uint64_t sum_of(const struct disk_cache_item *item, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += item[i].bytes;
    return sum;
}

static const char *kind_of(const struct disk_cache_item *item)
{
    return strchr(item->name, '.') + 1;
}

/* Hundreds of schedules of exchanges belong to one program: they share a line, at the last used. */
static int is_schedule(const struct disk_cache_item *item)
{
    return !strcmp(kind_of(item), "schedule");
}

static void print_schedules(const struct disk_cache_item *item, size_t n, const char *age)
{
    uint64_t bytes = 0;
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count += (size_t)is_schedule(&item[i]);
        bytes += is_schedule(&item[i]) ? item[i].bytes : 0;
    }
    printf("%10.3f  %10s  %-10s  of %zu exchanges\n", (double)bytes / 1e6, age, kind_of(item),
           count);
}

static void print_list(const struct disk_cache *c, const struct disk_cache_item *item, size_t n)
{
    size_t schedules = 0;

    printf("%s: %zu %s, %.1f of at most %.0f MB\n", c->folder, n, n == 1 ? "entry" : "entries",
           (double)sum_of(item, n) / 1e6, (double)c->limit / 1e6);
    if (n)
        printf("%10s  %10s  %-10s  %s\n", "MB", "last used", "kind", "what");
    for (size_t i = 0; i < n; i++) {
        char age[32];

        age_text(seconds_since(item[i].used), age);
        if (!is_schedule(&item[i]))
            printf("%10.3f  %10s  %-10s  %s\n", (double)item[i].bytes / 1e6, age, kind_of(&item[i]),
                   item[i].label[0] ? item[i].label : "(not of this version)");
        else if (!schedules++)
            print_schedules(item + i, n - i, age);
    }
}

static enum emu_status print_json(const struct disk_cache *c, const struct disk_cache_item *item,
                                  size_t n)
{
    json_t *list = json_array(), *o;

    for (size_t i = 0; i < n; i++) {
        int digits = (int)strcspn(item[i].name, ".");

        json_array_append_new(list, json_pack("{s:s%, s:s, s:o, s:I, s:f}", "key", item[i].name,
                                              digits, "kind", item[i].name + digits + 1, "what",
                                              json_text(item[i].label), "bytes",
                                              (json_int_t)item[i].bytes, "last_used_seconds",
                                              seconds_since(item[i].used)));
    }
    o = json_pack("{s:s, s:I, s:I, s:o}", "folder", c->folder, "bytes", (json_int_t)sum_of(item, n),
                  "limit_bytes", (json_int_t)c->limit, "entries", list);
    if (!o)
        return FAIL(NO_MEMORY, "the list");
    ss_run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

static enum emu_status clear(const struct disk_cache *c)
{
    struct disk_cache_item *item;
    uint64_t bytes;
    size_t n, left;

    TRY(disk_cache_list(c, &item, &n));
    bytes = sum_of(item, n);
    ss_free(item);
    left = disk_cache_clear(c);
    if (left)
        return FAIL(IO, "%s: %zu files could not be removed", c->folder, left);
    printf("%s: removed %zu %s, %.1f MB\n", c->folder, n, n == 1 ? "entry" : "entries",
           (double)bytes / 1e6);
    return EMU_OK;
}

static enum emu_status show(const struct request *q, const struct disk_cache *c)
{
    struct disk_cache_item *item;
    enum emu_status s;
    size_t n;

    s = disk_cache_list(c, &item, &n);
    if (s == EMU_OK && option_json(q))
        s = print_json(c, item, n);
    else if (s == EMU_OK)
        print_list(c, item, n);
    ss_free(item);
    return s;
}

int cmd_cache(const struct request *q)
{
    const struct disk_cache c = disk_cache_of(option_cache(q));
    enum emu_status s;

    if (!c.folder[0])
        s = FAIL(USAGE, "there is no cache: $SUPERSTEP_CACHE is empty, or there is no $HOME");
    else
        s = option_clear(q) ? clear(&c) : show(q, &c);
    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
