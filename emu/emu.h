/* emu.h - the machine as the compiler and the library see it; commands are not in it. models/
 * includes single headers (tests/layers.txt), a program outside this tree public ones (base/api.h).
 *
 * base: status, memory, hashes, arithmetic of one lane. arch: the numbers of a chip. isa and asm:
 * words of code. exchange_sequence: timed code of one tile. load: images. bsp, host, run:
 * execution. profile: where the cycles went.
 */
#ifndef EMU_EMU_H
#define EMU_EMU_H

#include "emu/arch/arch.h"
#include "emu/arch/arch_geometry.h"
#include "emu/asm/asm.h"
#include "emu/isa/exchange_sequence.h"
#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "emu/base/fail.h"
#include "emu/base/fp.h"
#include "emu/base/fp_math.h"
#include "emu/base/hash.h"
#include "emu/base/output_file.h"
#include "emu/base/prng.h"
#include "emu/base/progress.h"
#include "emu/base/random.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/record.h"
#include "emu/host/host.h"
#include "emu/isa/isa.h"
#include "emu/load/image.h"
#include "emu/profile/bill.h"
#include "emu/job/run_image.h"

#endif
