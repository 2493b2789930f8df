/* arch.c - the built-in machines and the fields by name: lookup, reading from text, printing, derived figures. */
#include "emu/arch/arch_private.h"

#include <inttypes.h>
#include <string.h>

#define VALUE(field, mk1, mk2, bow, c600, toy) .field = toy,
#define TOY(name_, tiles_)                                                                         \
    .base = name_, .host_source = 0
#undef TOY
#undef VALUE
