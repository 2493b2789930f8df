/* fields.h - the fields of all kernels as the C meanings and the formulas of times know them:
 * STATE__FIELD is the index of a field in struct codelet_call.
 */
#ifndef PROGRAMS_FIELDS_H
#define PROGRAMS_FIELDS_H

#define INDEX(s, field)      s##__##field,
#define LENGTH(s, field, of) INDEX(s, field)
#include "programs/library/kernel/fields_alike.def"

#define KERNEL(...)
#define STATE(state, ...) enum { FIELDS_##state(state, ##__VA_ARGS__) state##__words };
#include "programs/library/kernel/families.def"

#include "programs/library/kernel/rows_end.def"

#endif
