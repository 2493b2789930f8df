/* lower_state.h - where the values lie that a step of training changes; private to models/lower.
 */
#ifndef MODELS_LOWER_STATE_H
#define MODELS_LOWER_STATE_H

#include "models/lower/lowering.h"

/* States are filled up to whole rows of this many elements. Then a number by which a whole list is
 * multiplied can be given once for each column. */
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

/* Within a function that makes values: moves those of them that are gradients, and asked for, to
 * where their parameters lie, as made->gradient, all at once. l->at is that of the caller, l->seq
 * the body. */
void lower_gradients_in_function(struct lowering *l, const uint32_t *value, const uint8_t *asked,
                                 uint32_t values, struct placed *made);
/* A value has been made, and by a function (made) or not (NULL): if it is a gradient, it goes to
 * where its parameter lies. */
void lower_gradient_is_made(struct lowering *l, uint32_t value, const struct placed *made);
/* Whether only updates read a value. Such a value lies where its parameter does. */
int lower_gradient_is_home(const struct lowering *l, uint32_t value, const struct placed *made);
/* Moves the gradients of an update that have not been moved when they were made: inputs, and
 * gradients that belong to two parameters. */
void lower_other_gradients(struct lowering *l, const struct op_node *n);
/* Changes parameters and states of a ParameterUpdate (lower_update.c). */
void lower_apply_update(struct lowering *l, const struct op_node *n);

/* lowered_network.gradient: they stay where they are when a step is over. */
void lower_list_gradients(struct lowering *l);
/* All gradients of parameters become 0. */
void lower_clear_gradients(struct lowering *l);
/* Copies what states become to them, but for what updates change in place. */
void lower_copy_updates(struct lowering *l, struct program seq);

/* Makes all states of the graph, and what the network reads in their place. */
void lower_place_states(struct lowering *l);
/* The elements of an input: numbers of a ParameterUpdate (its rate, say) are f32, seeds u32. */
enum elem lower_input_elem(const struct lowering *l, uint32_t value);
/* Whether an input is a field that convolutions train on: their gradients need it in whole blocks
 * of channels. */
int lower_is_trained_on(const struct lowering *l, uint32_t value);
/* Updates parameters, and copies what else op_graph.update says to states: the end of a step. If
 * the sum of a ParameterUpdate's gradients, where it is a result, is no number, all states stay as
 * they were. */
void lower_update_states(struct lowering *l);

#endif
