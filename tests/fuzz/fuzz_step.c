/* fuzz_step.c - any bytes as a script for the stepper: every line is answered, with text or, after
 * a first byte that is odd, as one JSON object; a position is the same state afterwards. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest.h"
#include "emu/job/run_in_memory.h"
#include "emu/step/step_shell.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_TRIED = 24, LINE_BYTES = 600, HISTORY_BYTES = 1 << 20 };

/* Two supersteps, workers, a loop and a fault at the end, on four tiles. */
static const char program[] =
    "{\"machine\": \"toy4\", \"programs\": [{\"tiles\": \"all\", \"asm\": \""
    ".supervisor\\nmain: setzi $m1, work\\nrunall $m1, $m15, 0\\nsync 2\\nsync 4\\n"
    ".exchange TILE\\n.send block, 4, 0\\n.receive copy, 4, 0, (TILE + 1) % TILES\\n.endexchange\\n"
    "sync 0\\nsync 4\\nld32 $m2, $m15, 3\\nsync 6\\n.worker\\nwork: setzi $m3, 5\\n"
    "1: add $m4, $m3, $m4\\nbrnzdec $m3, 1b\\nexitz $m15\\n"
    "\", \"memory\": [{\"name\": \"block\", \"u32_per_tile\": \"tile + i\", \"count\": 4}, "
    "{\"name\": \"copy\", \"bytes\": 16}]}]}";

static struct image *image_once(void)
{
    static const struct manifest_options o = { .no_files = 1, .raw = 1 };
    static struct image *im;
    static struct manifest *m;
    enum emu_status s;

    if (im)
        return im;
    s = ss_manifest_read_text(program, sizeof(program) - 1, "fuzz", &o, &m);
    if (s == EMU_OK)
        s = ss_manifest_build(m, 1, stderr, &im);
    if (s != EMU_OK)
        fprintf(stderr, "%s\n", ss_error());
    EMU_ASSERT(s == EMU_OK);
    return im;
}

/* Does the lines; answers go to f. Returns how many were done. */
static unsigned do_lines(struct step_shell *shell, const char *at, const char *end)
{
    char line[LINE_BYTES];
    unsigned done = 0;
    int quits = 0;

    while (at < end && done < LINES_TRIED && !quits) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        enum emu_status s;

        n = n < LINE_BYTES ? n : LINE_BYTES - 1;
        memcpy(line, at, n);
        line[n] = 0;
        s = step_shell_do(shell, line, &quits);
        EMU_ASSERT(s == EMU_OK);
        done++;
        at = stop ? stop + 1 : end;
    }
    return done;
}

/* Each line of the answers is an object. */
static void check_json(const char *text, unsigned lines)
{
    unsigned n = 0;

    while (*text) {
        const char *stop = strchr(text, '\n');
        json_t *o = stop ? json_loadb(text, (size_t)(stop - text), 0, NULL) : NULL;

        EMU_ASSERT(json_is_object(o));
        json_decref(o);
        n++;
        text = stop + 1;
    }
    EMU_ASSERT(n <= lines + 1);
}

/* The state at a cycle hangs on nothing that was done before. */
static void check_position(struct stepper *s, struct step_shell *shell)
{
    static struct hash128 first;
    static int known;
    struct hash128 here;
    int quits;
    enum emu_status st = step_shell_do(shell, "delete all", &quits);

    if (st == EMU_OK)
        st = step_shell_do(shell, "to cycle 150", &quits);
    EMU_ASSERT(st == EMU_OK);
    here = stepper_digest(s);
    if (!known)
        first = here;
    known = 1;
    EMU_ASSERT(!memcmp(&first, &here, sizeof(here)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct run_options ro = { .threads = 1, .max_cycles = UINT64_MAX / 2 };
    const struct stepper_options so = { .history_bytes = HISTORY_BYTES };
    int json = size && data[0] & 1;
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    struct step_shell *shell = NULL;
    struct stepper *s = NULL;
    struct run *r = NULL;
    unsigned lines;
    enum emu_status st = ss_run_new(image_once(), &ro, &r);

    if (st == EMU_OK)
        st = stepper_new(r, &so, &s);
    if (st == EMU_OK)
        st = step_shell_new(s, f, json, &shell);
    EMU_ASSERT(f && st == EMU_OK);
    st = step_shell_begin(shell);
    EMU_ASSERT(st == EMU_OK);
    lines = size ? do_lines(shell, (const char *)data + 1, (const char *)data + size) : 0;
    fflush(f);
    if (json)
        check_json(text, lines);
    check_position(s, shell);
    step_shell_free(shell);
    stepper_free(s);
    ss_run_free(r);
    fclose(f);
    free(text);
    return 0;
}
