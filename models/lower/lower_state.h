/* lower_state.h - where what a step of training changes lies on the chip; private to models/lower.
 */
#ifndef MODELS_LOWER_STATE_H
#define MODELS_LOWER_STATE_H

#include "models/lower/lowering.h"

/* States are filled up to whole rows of so many elements, so that a number by which all of a list
 * is multiplied can be one for each column. */
enum { STATE_ROW = 16 };

/* How many parameters a ParameterUpdate has, and how many states each. */
struct update_lists {
    uint32_t n;
    unsigned slots;
};
struct update_lists update_lists_of(const struct lowering *l, const struct op_node *n);

/* Elements of a state with those that fill it up. */
uint32_t state_elements(const struct lowering *l, uint32_t state);
/* Some memory of so many elements, flat, seen as a state: in its shape. */
struct tensor state_view(struct lowering *l, uint32_t state, struct tensor flat);
/* Whether elements fill it up. */
int state_is_filled_up(const struct lowering *l, uint32_t state);

/* Makes all states of the graph, and what the network reads in their place. */
void lower_place_states(struct lowering *l);
/* Whether an input is a number of a ParameterUpdate (its rate, say): these are f32. */
int lower_is_update_number(const struct op_graph *g, uint32_t value);
/* Copies what op_graph.update says to the states: the end of a step. */
void lower_update_states(struct lowering *l);

#endif
