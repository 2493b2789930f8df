/* pod_wait.c - who waits for what when nothing moves in a whole system. */
#include "emu/pod/pod_internal.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 2000, WAITS = 64 /* more than fit the text */ };

size_t pod_waits(const struct pod *p, struct pod_wait *out, size_t room)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->chips && n < room; i++) {
        struct machine_wait wait[MACHINE_WAITS];
        size_t waits = machine_waits(p->chip[i].machine, wait, MACHINE_WAITS);

        for (size_t k = 0; k < waits && n < room; k++)
            out[n++] = (struct pod_wait){ .chip = i, .wait = wait[k] };
    }
    return n;
}

static void add_text(char text[TEXT_BYTES], const char *more)
{
    size_t used = strlen(text);

    snprintf(text + used, TEXT_BYTES - used, "%s", more);
}

/* Of the first of the tiles that wait for words: how many it lacks, and which chips have sent it
 * some. */
static void add_missing_words(const struct pod *p, uint32_t chip, uint32_t tile,
                              char text[TEXT_BYTES])
{
    uint32_t lacks = machine_far_words(p->chip[chip].machine, tile), came = 0;
    char part[128];

    if (!lacks)
        return;
    for (size_t i = 0; i < p->flows; i++) {
        if (p->flow[i].chip == chip && p->flow[i].tile == tile)
            came += p->flow[i].words;
    }
    snprintf(part, sizeof(part), ", tile %u lacks %u of %u words; ", tile, lacks, lacks + came);
    add_text(text, part);
    if (!came) {
        add_text(text, "no chip has sent it any");
        return;
    }
    add_text(text, "it has");
    for (size_t i = 0, n = 0; i < p->flows; i++) {
        if (p->flow[i].chip != chip || p->flow[i].tile != tile)
            continue;
        snprintf(part, sizeof(part), "%s %u of chip %u", n++ ? "," : "", p->flow[i].words,
                 p->flow[i].from_chip);
        add_text(text, part);
    }
}

enum machine_stop pod_deadlock(const struct pod *p)
{
    struct pod_wait wait[WAITS];
    size_t n = pod_waits(p, wait, WAITS);
    char text[TEXT_BYTES] = "", line[320];

    for (size_t k = 0; k < n; k++) {
        snprintf(line, sizeof(line), "%s chip %u: ", k ? ";" : "", wait[k].chip);
        add_text(text, line);
        machine_wait_print(&wait[k].wait, line, sizeof(line));
        add_text(text, line + 2); /* without "; " */
        add_missing_words(p, wait[k].chip, wait[k].wait.first, text);
    }
    ss_fail(EMU_FAULT, "deadlock:%s", n ? text : " no tile is in use");
    return MACHINE_DEADLOCK;
}
