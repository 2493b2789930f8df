/* request_machine.c - the machine that --machine and --set ask for. */
#include "emu/cli/request.h"

enum emu_status request_machine(const struct request *q, const char *fallback, struct arch *out)
{
    TRY(arch_from_name_or_file(q->machine ? q->machine : fallback, out));
    for (size_t i = 0; i < q->set.count; i++)
        TRY(arch_set(out, q->set.item[i]));
    return arch_check(out);
}

enum emu_status request_check_arch(const struct arch *a)
{
    return a->chips > 1 ? FAIL(USAGE, "chips %u: one chip is emulated", a->chips) : EMU_OK;
}

enum emu_status request_arch(const struct request *q, const char *fallback, struct arch *out)
{
    TRY(request_machine(q, fallback, out));
    return request_check_arch(out);
}
