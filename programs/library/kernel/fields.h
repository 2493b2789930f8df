/* fields.h - the fields of all kernels as the C meanings and the formulas of times know them:
 * STATE__FIELD is the index of a field in struct codelet_call.
 */
#ifndef PROGRAMS_FIELDS_H
#define PROGRAMS_FIELDS_H

#define INDEX(s, field)                         s##__##field,
#define IN(s, field, elem, align, region)       INDEX(s, field)
#define OUT(s, field, elem, align, region)      INDEX(s, field)
#define INOUT(s, field, elem, align, region)    INDEX(s, field)
#define IN_LIST(s, field, elem, align, region)  INDEX(s, field)
#define OUT_LIST(s, field, elem, align, region) INDEX(s, field)
#define WORDS(s, field)                         INDEX(s, field)
#define U32(s, field)                           INDEX(s, field)
#define F32(s, field)                           INDEX(s, field)
#define F16(s, field)                           INDEX(s, field)
#define LENGTH(s, field, of)                    INDEX(s, field)
#define APART(s, a, b)

#define KERNEL(...)
#define STATE(state, ...) enum { FIELDS_##state(state, ##__VA_ARGS__) state##__words };
#include "programs/library/kernel/families.def"

#include "programs/library/kernel/rows_end.def"

#endif
