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
/* The elements of an input: numbers of a ParameterUpdate (its rate, say) are f32, seeds u32. */
enum elem lower_input_elem(const struct lowering *l, uint32_t value);
/* Copies what op_graph.update says to the states: the end of a step. If the sum of a
 * ParameterUpdate's gradients, where it is a result, is no number, all states stay as they were. */
void lower_update_states(struct lowering *l);

#endif
