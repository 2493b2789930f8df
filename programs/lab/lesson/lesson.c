/* lesson.c - the table of lessons. */
#include "programs/lab/lesson/lesson.h"

#include <stddef.h>
#include <string.h>

#define COST(what, times, w, h)              { what, times, w, h },
#define LESSON(name, goal, ask, notice, ...) { name, goal, ask, notice, { __VA_ARGS__ } },
static const struct lesson lessons[] = {
#include "programs/lab/lesson/lessons.def"
};
#undef LESSON
#undef COST

const struct lesson *lesson_at(unsigned i)
{
    return i < sizeof(lessons) / sizeof(lessons[0]) ? &lessons[i] : NULL;
}

const struct lesson *lesson_find(const char *name)
{
    for (unsigned i = 0; lesson_at(i); i++) {
        if (!strcmp(lesson_at(i)->name, name))
            return lesson_at(i);
    }
    return NULL;
}
