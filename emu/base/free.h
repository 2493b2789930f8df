/* free.h - how memory that a function of the library hands over is given back. */
#ifndef EMU_FREE_H
#define EMU_FREE_H

#include "emu/base/api.h"

SUPERSTEP_API_BEGIN

void ss_free(void *p); /* NULL allowed */

SUPERSTEP_API_END

#endif
