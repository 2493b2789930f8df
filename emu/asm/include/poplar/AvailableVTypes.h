/* AvailableVTypes.h - which packed vector layouts the machine has.
 *
 * VECTOR_AVAIL_SCALED_PTR32, _PTR64, _PTR128, VECTOR_AVAIL_SHORT_SPAN and VECTORLIST_AVAIL_DELTAN stay undefined: vectors are
 * passed as plain pointers and lengths. A unit that wants one passes it with -D.
 */
#ifndef SUPERSTEP_POPLAR_AVAILABLE_VTYPES_H
#define SUPERSTEP_POPLAR_AVAILABLE_VTYPES_H

#endif
