/* StackSizeDefs.hpp - records how much stack a function needs, and the flags of sections that hold worker functions.
 *
 * Both macros take a size in bytes and a symbol: USAGE counts what the callees need as well, OWN does not.
 */
#ifndef SUPERSTEP_POPLAR_STACK_SIZE_DEFS_HPP
#define SUPERSTEP_POPLAR_STACK_SIZE_DEFS_HPP

#define FUNCTION_IS_WORKER "ax"

.macro DEF_STACK_USAGE size, name
.stack_usage \name, \size
.endm

.macro DEF_STACK_SIZE_OWN size, name
.stack_usage \name, \size
.endm

#endif
