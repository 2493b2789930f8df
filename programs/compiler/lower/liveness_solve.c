/* liveness_solve.c - dataflow over the steps (see liveness_solve.h). */
#include "programs/compiler/lower/liveness_solve.h"

#include <string.h>

/* ---- where steps lead ---- */

static uint32_t after(const struct dataflow_function *fn, uint32_t step)
{
    return step + 1 < fn->end ? step + 1 : DATAFLOW_EXIT;
}

static void link_function(struct dataflow *f, const struct dataflow_function *fn)
{
    for (uint32_t p = fn->first; p < fn->end; p++) {
        uint32_t match = f->step[p].match;

        f->next[p][0] = after(fn, p);
        f->next[p][1] = DATAFLOW_NOWHERE;
        switch (f->step[p].kind) {
        case STEP_IF: /* the first step of the other part */
            f->next[p][1] = match + 1;
            break;
        case STEP_ELSE: /* reached from the first part, which is over */
            f->next[p][0] = match;
            break;
        case STEP_BREAK:
            f->next[p][1] = after(fn, match);
            break;
        case STEP_END:
            if (f->step[match].kind == STEP_ELSE)
                break;
            f->next[p][0] = match + 1;
            if (f->step[match].kind == STEP_REPEAT)
                f->next[p][1] = after(fn, p);
            break;
        default:
            break;
        }
    }
}

/* Orders the functions depth first, so that each comes after those that it calls. */
static void order_functions(struct dataflow *f, uint32_t *stack, uint32_t *at, uint8_t *seen)
{
    uint32_t depth = 0, done = 0;

    stack[depth++] = 0;
    seen[0] = 1;
    at[0] = f->function[0].first;
    while (depth) {
        uint32_t fn = stack[depth - 1];

        while (at[fn] < f->function[fn].end &&
               (f->step[at[fn]].kind != STEP_CALL || seen[f->step[at[fn]].n]))
            at[fn]++;
        if (at[fn] == f->function[fn].end) {
            f->order[done++] = fn;
            depth--;
            continue;
        }
        fn = f->step[at[fn]].n;
        seen[fn] = 1;
        at[fn] = f->function[fn].first;
        stack[depth++] = fn;
    }
    f->functions = done; /* those that are called */
}

static enum emu_status order_all(struct dataflow *f, uint32_t functions)
{
    uint32_t *stack = emu_alloc(2 * (size_t)functions, sizeof(*stack));
    uint8_t *seen = emu_alloc(functions, 1);

    if (stack && seen)
        order_functions(f, stack, stack + functions, seen);
    ss_free(stack);
    ss_free(seen);
    return stack && seen ? EMU_OK : FAIL(NO_MEMORY, "%u functions", functions);
}

enum emu_status dataflow_init(struct dataflow *f, const struct lowered *l)
{
    size_t n = l->step.count + 1;
    enum emu_status s;

    *f = (struct dataflow){ .step = l->step.at, .steps = (uint32_t)l->step.count };
    f->next = emu_alloc(n, sizeof(*f->next));
    f->function = emu_alloc(l->function.count, sizeof(*f->function));
    f->order = emu_alloc(l->function.count, sizeof(*f->order));
    f->read = emu_alloc(6 * n, sizeof(*f->read));
    if (!f->next || !f->function || !f->order || !f->read) {
        dataflow_free(f);
        return FAIL(NO_MEMORY, "liveness of %zu steps", l->step.count);
    }
    f->write = f->read + n;
    f->kill = f->write + n;
    f->in = f->kill + n;
    f->out = f->in + n;
    f->before = f->out + n;
    for (size_t i = 0; i < l->function.count; i++) {
        f->function[i].first = l->function.at[i].first;
        f->function[i].end = l->function.at[i].first + l->function.at[i].count;
        link_function(f, &f->function[i]);
    }
    s = order_all(f, (uint32_t)l->function.count);
    if (s != EMU_OK)
        dataflow_free(f);
    return s;
}

void dataflow_free(struct dataflow *f)
{
    ss_free(f->next);
    ss_free(f->function);
    ss_free(f->order);
    ss_free(f->read);
    memset(f, 0, sizeof(*f));
}

void dataflow_clear(struct dataflow *f)
{
    memset(f->read, 0, 3 * (f->steps + (size_t)1) * sizeof(*f->read));
    f->host = 0;
}

/* ---- solving ---- */

static uint64_t needed_at(const struct dataflow *f, uint32_t step, uint64_t exit)
{
    if (step == DATAFLOW_NOWHERE)
        return 0;
    return step == DATAFLOW_EXIT ? exit : f->in[step];
}

/* What a function needs at its first step when `exit` is needed after it. */
static uint64_t solve_backward(struct dataflow *f, const struct dataflow_function *fn,
                               uint64_t exit)
{
    int again = fn->end > fn->first;

    memset(f->in + fn->first, 0, (fn->end - fn->first) * sizeof(*f->in));
    while (again) {
        again = 0;
        for (uint32_t p = fn->end; p-- > fn->first;) {
            uint64_t out = needed_at(f, f->next[p][0], exit) | needed_at(f, f->next[p][1], exit);
            uint64_t in = f->read[p] | (out & ~f->kill[p]);

            if (f->step[p].kind == STEP_CALL)
                in = f->read[p] | f->function[f->step[p].n].need |
                     (out & ~f->function[f->step[p].n].replace);
            again |= in != f->in[p];
            f->in[p] = in;
            f->out[p] = out;
        }
    }
    return fn->end > fn->first ? f->in[fn->first] : exit;
}

static void solve_forward(struct dataflow *f, const struct dataflow_function *fn)
{
    int again = fn->end > fn->first;

    if (!again)
        return;
    memset(f->before + fn->first, 0, (fn->end - fn->first) * sizeof(*f->before));
    f->before[fn->first] = fn->entry;
    while (again) {
        again = 0;
        for (uint32_t p = fn->first; p < fn->end; p++) {
            uint64_t after = f->before[p] | f->write[p];

            if (f->step[p].kind == STEP_CALL)
                after |= f->function[f->step[p].n].write;
            for (int k = 0; k < 2; k++) {
                uint32_t next = f->next[p][k];

                if (next >= DATAFLOW_EXIT)
                    continue;
                again |= next <= p && (after & ~f->before[next]);
                f->before[next] |= after;
            }
        }
    }
}

/* The classes that a function needs, replaces and writes, which do not depend on its caller. */
static void sum_up(struct dataflow *f, struct dataflow_function *fn)
{
    fn->need = solve_backward(f, fn, 0);
    fn->replace = ~solve_backward(f, fn, ~UINT64_C(0));
    fn->write = fn->entry = fn->exit = 0;
    for (uint32_t p = fn->first; p < fn->end; p++) {
        fn->write |= f->write[p];
        if (f->step[p].kind == STEP_CALL)
            fn->write |= f->function[f->step[p].n].write;
    }
}

void dataflow_solve(struct dataflow *f)
{
    f->read[f->function[0].first] |= f->host; /* in use there even if it is never read */
    for (uint32_t i = 0; i < f->functions; i++)
        sum_up(f, &f->function[f->order[i]]);
    f->function[0].entry = f->host;
    for (uint32_t i = f->functions; i-- > 0;) {
        struct dataflow_function *fn = &f->function[f->order[i]];

        solve_backward(f, fn, fn->exit);
        solve_forward(f, fn);
        for (uint32_t p = fn->first; p < fn->end; p++) {
            if (f->step[p].kind == STEP_CALL) {
                f->function[f->step[p].n].exit |= f->out[p];
                f->function[f->step[p].n].entry |= f->before[p];
            }
        }
    }
}

uint64_t dataflow_used(const struct dataflow *f, uint32_t step)
{
    if (f->step[step].kind ==
        STEP_CALL) /* what a callee needs or writes is in use during the call, too */
        return f->read[step] | (f->in[step] & f->before[step]) |
               (f->out[step] & (f->before[step] | f->function[f->step[step].n].write));
    return f->read[step] | f->write[step] | (f->in[step] & f->out[step] & f->before[step]);
}
