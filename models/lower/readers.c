/* readers.c - the questions that lowerings ask about who reads a value (see readers.h). */
#include "models/lower/readers.h"

#include "emu/base/status.h"

static int is_read(const struct op_graph *g, uint32_t value)
{
    return value_reads(g, value) != 0;
}

static int is_only_output(const struct op_graph *g, uint32_t value)
{
    uint32_t outputs = 0;

    for (uint32_t k = 0; k < g->outputs; k++)
        outputs += g->output[k] == value;
    return outputs && value_reads(g, value) == outputs;
}

static const struct reader_question {
    enum op_family_flag flag; /* of families that ask it */
    int (*answer)(const struct op_graph *g, uint32_t value);
} question[] = { { OP_ASKS_READ, is_read }, { OP_ASKS_SCORES, is_only_output } };

static int answer(const struct op_graph *g, const struct op_node *n, uint32_t k,
                  const struct reader_question *q)
{
    return k < n->outs && n->out[k] != OP_NONE && q->answer(g, n->out[k]);
}

int result_is_read(const struct op_graph *g, const struct op_node *n, uint32_t k)
{
    EMU_ASSERT(op_node_has(n, OP_ASKS_READ));
    return answer(g, n, k, &question[0]);
}

int result_is_only_output(const struct op_graph *g, const struct op_node *n, uint32_t k)
{
    EMU_ASSERT(op_node_has(n, OP_ASKS_SCORES));
    return answer(g, n, k, &question[1]);
}

unsigned result_answers(const struct op_graph *g, const struct op_node *n, uint32_t k)
{
    unsigned all = 0;

    for (unsigned i = 0; i < EMU_COUNT_OF(question); i++)
        all |= (unsigned)(op_node_has(n, question[i].flag) && answer(g, n, k, &question[i])) << i;
    return all;
}
