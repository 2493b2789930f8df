/* lesson.h - what `superstep lab NAME` teaches with a program: the rows of lessons.def and
 * mistakes.def; and its exercises. */
#ifndef PROGRAMS_LESSON_H
#define PROGRAMS_LESSON_H

enum { LESSON_COSTS = 4 };

/* Supersteps of one kind. Formulas are integer expressions (emu/job/manifest.h) of the parameters
 * of the program, the numbers in its answer, `tiles` of the machine and `chips` of the system. */
struct lesson_cost {
    const char *what;
    const char *times; /* how many there are */
    const char *w;     /* cycles that the slowest tile computes in one of them */
    const char *h;     /* words that one tile sends or receives at most; "0": no exchange, no l */
    int is_between;    /* chips: h is words that one chip sends or receives at most */
};

struct lesson {
    const char *name, *goal, *ask, *notice;
    struct lesson_cost cost[LESSON_COSTS]; /* ends with one without `what` */
};

/* A program that goes wrong. */
struct mistake {
    const char *name, *meant, *find, *mend;
};

/* What a student is asked to do: a row of exercise/exercises.def. Its files are embedded:
 * the unfinished one and what is checked. */
struct exercise {
    const char *name, *title, *task;
};

/* i from 0 on; NULL after the last. */
const struct exercise *exercise_at(unsigned i);

/* NULL: that program is none. */
const struct mistake *mistake_find(const char *name);
/* NULL: that program has none. */
const struct lesson *lesson_find(const char *name);
/* In the order of the course; i from 0 on; NULL after the last. */
const struct lesson *lesson_at(unsigned i);

#endif
