/* lowered_match.c - which steps of control flow belong together. */
#include "programs/compiler/lower/lowered.h"

/* The innermost loop that is open; depth if there is none. */
static uint32_t innermost_loop(const struct lowered *l, const uint32_t *open, uint32_t depth)
{
    for (uint32_t k = depth; k-- > 0;) {
        if (l->step.at[open[k]].kind == STEP_LOOP)
            return k;
    }
    return depth;
}

/* A break gets the beginning of its loop, because the end is not known yet. open: the constructs
 * that are open, innermost last; of an if, the part that is open. */
static enum emu_status match_function(const struct lowered *l, const struct lowered_function *f,
                                      uint32_t *open, uint32_t *match)
{
    uint32_t depth = 0, loop;

    for (uint32_t i = f->first; i < f->first + f->count; i++) {
        switch (l->step.at[i].kind) {
        case STEP_REPEAT:
        case STEP_LOOP:
        case STEP_IF:
            open[depth++] = i;
            break;
        case STEP_BREAK:
            loop = innermost_loop(l, open, depth);
            if (loop == depth)
                return FAIL(BAD_PROGRAM, "step %u: a break outside of loops", i);
            match[i] = open[loop];
            break;
        case STEP_ELSE:
            if (!depth || l->step.at[open[depth - 1]].kind != STEP_IF)
                return FAIL(BAD_PROGRAM, "step %u: an else without an if", i);
            match[open[depth - 1]] = i;
            open[depth - 1] = i;
            break;
        case STEP_END:
            if (!depth || l->step.at[open[depth - 1]].kind == STEP_IF)
                return FAIL(BAD_PROGRAM, "step %u: an end of nothing, or an if without else", i);
            match[i] = open[--depth];
            match[match[i]] = i;
            break;
        default:
            break;
        }
    }
    return depth ? FAIL(BAD_PROGRAM, "step %u: no end", open[depth - 1]) : EMU_OK;
}

enum emu_status lowered_matches(const struct lowered *l, uint32_t *match)
{
    uint32_t *open = emu_alloc(l->step.count + 1, sizeof(*open));
    enum emu_status s = open ? EMU_OK : FAIL(NO_MEMORY, "%zu steps", l->step.count);

    for (size_t i = 0; i < l->step.count; i++)
        match[i] = LOWERED_NONE;
    for (size_t f = 0; f < l->function.count && s == EMU_OK; f++)
        s = match_function(l, &l->function.at[f], open, match);
    ss_free(open);
    for (size_t i = 0; i < l->step.count && s == EMU_OK; i++) {
        if (l->step.at[i].kind == STEP_BREAK)
            match[i] = match[match[i]];
    }
    return s;
}

enum emu_status lowered_match(struct lowered *l)
{
    uint32_t *match = emu_alloc(l->step.count + 1, sizeof(*match));
    enum emu_status s =
        match ? lowered_matches(l, match) : FAIL(NO_MEMORY, "%zu steps", l->step.count);

    for (size_t i = 0; i < l->step.count && s == EMU_OK; i++)
        l->step.at[i].match = match[i];
    ss_free(match);
    return s;
}

uint32_t lowered_next(const struct lowered *l, uint32_t step)
{
    const struct step *s = &l->step.at[step];

    switch (s->kind) {
    case STEP_REPEAT:
    case STEP_LOOP:
        return s->match + 1;
    case STEP_IF:
        return l->step.at[s->match].match + 1;
    default:
        return step + 1;
    }
}
