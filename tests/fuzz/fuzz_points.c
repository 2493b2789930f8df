/* fuzz_points.c - any bytes as a file of points of a sweep: refused with a message, or points whose
 * values are those of the file and can be read back, made into requests or refused one by one. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/fail.h"
#include "emu/cli/request_store.h"
#include "models/ask/model_request.h"
#include "models/cli/commands_models.h"
#include "models/sweep/sweep_point.h"

/* What is read of the command line. */
OPTION_READ(WORD, engine)
OPTION_READ(TEXT, points)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { POINTS_TRIED = 8 };

/* What is swept is a program, or a manifest of several chips, whose points are proven without
 * building a network. */
static struct request *begin_request(const char *what, char *path)
{
    const char *name[] = { what };
    const struct command *c = command_find(front_commands, "sweep");
    struct request *q = request_new(c);
    enum emu_status s;

    EMU_ASSERT(c && q);
    s = c->look(q, &(struct option_list){ name, 1 });
    EMU_ASSERT(s == EMU_OK);
    q->value[OPTION_WORD_engine].word = 1;
    q->value[OPTION_TEXT_points].text = path;
    return q;
}

static void look_at(const struct sweep *s)
{
    const struct sweep_axes *a = &s->axes;
    char text[200];

    EMU_ASSERT(a->points && a->axes);
    for (uint32_t i = 0; i < a->points; i++) {
        sweep_point_text(a, i, text, sizeof(text));
        for (uint32_t k = 0; k < a->axes; k++)
            EMU_ASSERT(sweep_choice(a, i, k) && strlen(text) < sizeof(text));
    }
    for (uint32_t i = 0; i < a->points && i < POINTS_TRIED; i++) {
        struct sweep_point p;
        enum emu_status st = sweep_point_new(s, i, &p);

        EMU_ASSERT(st == EMU_OK || ss_error()[0]);
        sweep_point_free(s, &p);
    }
}

static void sweep_from(const char *what, char *path)
{
    struct request *q = begin_request(what, path);
    struct sweep s = { .q = q };
    enum emu_status st = sweep_thing_open(q, &s.thing);

    EMU_ASSERT(st == EMU_OK);
    if (sweep_axes_read(q, &s.thing, &s.axes) == EMU_OK)
        look_at(&s);
    else
        EMU_ASSERT(ss_error()[0]);
    sweep_free(&s);
    request_free(q);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("points", 0);
    char path[64];

    EMU_ASSERT(fd >= 0 && (!size || write(fd, data, size) == (ssize_t)size));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    sweep_from("softmax", path);
    EMU_ASSERT(lseek(fd, 0, SEEK_SET) == 0);
    sweep_from("pingpong", path);
    close(fd);
    return 0;
}
