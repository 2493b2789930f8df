/* lesson.c - the tables of lessons, mistakes and exercises. */
#include "programs/lab/lesson/lesson.h"

#include <stddef.h>
#include <string.h>

#define COST(what, times, w, h)              { what, times, w, h, 0 },
#define COST_CHIPS(what, times, w, h)        { what, times, w, h, 1 },
#define LESSON(name, goal, ask, notice, ...) { name, goal, ask, notice, { __VA_ARGS__ } },
static const struct lesson lessons[] = {
#include "programs/lab/lesson/lessons.def"
};
#undef LESSON
#define MISTAKE(name, meant, find, mend) { name, meant, find, mend },
static const struct mistake mistakes[] = {
#include "programs/lab/lesson/mistakes.def"
};
#undef MISTAKE
#define EXERCISE(name, title, task) { name, title, task },
static const struct exercise exercises[] = {
#include "programs/lab/exercise/exercises.def"
};
#undef EXERCISE
#undef COST
#undef COST_CHIPS

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

const struct mistake *mistake_find(const char *name)
{
    for (unsigned i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
        if (!strcmp(mistakes[i].name, name))
            return &mistakes[i];
    }
    return NULL;
}

const struct exercise *exercise_at(unsigned i)
{
    return i < sizeof(exercises) / sizeof(exercises[0]) ? &exercises[i] : NULL;
}
