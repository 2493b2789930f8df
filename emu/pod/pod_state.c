/* pod_state.c - puts the state of a system away and back.
 *
 * Syncs and loads of links that came since are forgotten; those before are the same. What a phase
 * has sent, if that was not known yet, is found again.
 */
#include "emu/pod/pod_state.h"

#include "emu/pod/pod_internal.h"

void pod_save(const struct pod *p, struct byte_store *out)
{
    for (uint32_t i = 0; i < p->chips; i++) {
        machine_save(p->chip[i].machine, out);
        byte_put(out, &p->chip[i].stop, sizeof(p->chip[i].stop));
        byte_put(out, &p->chip[i].phase, sizeof(p->chip[i].phase));
    }
    byte_put(out, &p->outers, sizeof(p->outers));
    byte_put(out, &p->loads, sizeof(p->loads));
    byte_put(out, &p->fault, sizeof(p->fault));
    byte_put_list(out, p->flow, p->flows, sizeof(*p->flow));
}

enum emu_status pod_restore(struct pod *p, struct byte_store *from)
{
    for (uint32_t i = 0; i < p->chips; i++) {
        TRY(machine_restore(p->chip[i].machine, from));
        byte_take(from, &p->chip[i].stop, sizeof(p->chip[i].stop));
        byte_take(from, &p->chip[i].phase, sizeof(p->chip[i].phase));
    }
    byte_take(from, &p->outers, sizeof(p->outers));
    byte_take(from, &p->loads, sizeof(p->loads));
    byte_take(from, &p->fault, sizeof(p->fault));
    return byte_take_list(from, (void **)&p->flow, &p->flows, &p->flow_cap, sizeof(*p->flow));
}
