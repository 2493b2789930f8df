/* exchange_ahead.c - a queue from the thread that lowers to those that schedule (see
 * exchange_ahead.h).
 */
#include "programs/compiler/exchange_ahead.h"

#include <omp.h>
#include <pthread.h>

#include "programs/compiler/exchange_problem.h"
#include "programs/compiler/schedule/schedule_store.h"

/* The memory of all exchanges that wait; what does not fit into it is not done ahead. */
enum { QUEUE_BYTES = 64 << 20 };

struct exchange_ahead {
    struct arch arch;
    enum exchange_target target;
    struct schedule_store *store; /* borrowed */
    pthread_mutex_t lock;         /* of all that follows */
    pthread_cond_t changed;
    VEC(struct step_messages) queue;
    size_t queue_bytes;
    int ended;
    uint32_t made;
};

static size_t bytes_of(const struct step_messages *m)
{
    return m->message.cap * sizeof(*m->message.at) + m->dest.cap * sizeof(*m->dest.at);
}

/* ---- lowering ---- */

/* A step was added to the program. Without memory, it is not done ahead. */
static void add_step(void *ctx, const struct lowered *l, uint32_t step)
{
    struct exchange_ahead *x = ctx;
    struct step_messages m = { .message = { NULL } };
    int taken = 0;

    if (step_messages_read(l, step, &m) == EMU_OK && m.dest.count >= SCHEDULE_STORE_LEAST) {
        pthread_mutex_lock(&x->lock);
        if (x->queue_bytes + bytes_of(&m) <= QUEUE_BYTES && VEC_PUSH(&x->queue, m) == EMU_OK) {
            x->queue_bytes += bytes_of(&m);
            taken = 1;
            pthread_cond_signal(&x->changed);
        }
        pthread_mutex_unlock(&x->lock);
    }
    if (!taken)
        step_messages_free(&m);
}

static void end_queue(struct exchange_ahead *x)
{
    pthread_mutex_lock(&x->lock);
    x->ended = 1;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
}

/* ---- scheduling ---- */

/* Takes the largest exchange of those that wait; 0: there will be none. */
static int take_largest(struct exchange_ahead *x, struct step_messages *out)
{
    size_t largest = 0;
    int found;

    pthread_mutex_lock(&x->lock);
    while (!x->queue.count && !x->ended)
        pthread_cond_wait(&x->changed, &x->lock);
    found = !x->ended;
    for (size_t i = 1; found && i < x->queue.count; i++)
        if (x->queue.at[i].dest.count > x->queue.at[largest].dest.count)
            largest = i;
    if (found) {
        *out = x->queue.at[largest];
        x->queue.at[largest] = x->queue.at[--x->queue.count];
        x->queue_bytes -= bytes_of(out);
    }
    pthread_mutex_unlock(&x->lock);
    return found;
}

/* Returns 1 when the store has got a schedule; a failure is for compile_exchanges() to find. */
static int schedule_one(struct exchange_ahead *x, struct step_messages *m, struct step_objects *o)
{
    const struct exchange_problem p = step_problem(m, &x->arch);
    struct exchange_schedule s;
    struct hash128 hash;
    int kept = 0;

    if (step_messages_number(m, o, &hash) != EMU_OK)
        return 0;
    hash = schedule_store_key(x->store, &x->arch, x->target, hash);
    if (schedule_store_find(x->store, hash, &s)) {
        exchange_schedule_free(&s);
        return 0;
    }
    if (exchange_schedule(&p, x->target, &s) == EMU_OK)
        kept = schedule_store_keep(x->store, hash, &p, &s);
    exchange_schedule_free(&s);
    return kept;
}

static void schedule_ahead(struct exchange_ahead *x)
{
    struct step_objects o = { .build = 0 };
    struct step_messages m;
    uint32_t made = 0;

    while (take_largest(x, &m)) {
        made += (uint32_t)schedule_one(x, &m, &o);
        step_messages_free(&m);
    }
    step_objects_free(&o);
    pthread_mutex_lock(&x->lock);
    x->made += made;
    pthread_mutex_unlock(&x->lock);
}

/* ---- both ---- */

enum emu_status lower_and_schedule(struct graph *g, enum exchange_target target, unsigned threads,
                                   struct schedule_store *store, struct lowered **out,
                                   uint32_t *made)
{
    struct exchange_ahead x = { .arch = exchange_arch(ss_graph_arch(g)),
                                .target = target,
                                .store = store,
                                .lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER };
    const struct lower_watch watch = { &x, add_step };
    enum emu_status s = EMU_OK;

    *made = 0;
    if (threads < 2 || !store)
        return lower_graph(g, NULL, out);
#pragma omp parallel num_threads(threads)
    if (omp_get_thread_num()) {
        schedule_ahead(&x);
    } else {
        s = lower_graph(g, &watch, out);
        end_queue(&x);
    }
    for (size_t i = 0; i < x.queue.count; i++)
        step_messages_free(&x.queue.at[i]);
    VEC_FREE(&x.queue);
    pthread_cond_destroy(&x.changed);
    pthread_mutex_destroy(&x.lock);
    *made = x.made;
    return s;
}
