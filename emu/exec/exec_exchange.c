/* exec_exchange.c - the supervisor's exchange instructions: all of them are handed to the tile's
 * exchange port.
 */
#include "emu/exec/exec_rows.h"
#include "emu/tile/exchange_port.h"

static enum fault issue(struct tile *t, unsigned lane, const struct insn *in)
{
    if (!t->exchange)
        return tile_fault(t, lane, FAULT_EXERR, 0, "no exchange fabric is attached");
    return t->exchange->issue(t->exchange, t, in);
}

/* send n, addr18, ctl */
enum fault exec_send(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}

/* sendoff n, delta, ctl */
enum fault exec_sendoff(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}

/* sendpic n, selector, value */
enum fault exec_sendpic(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}

/* sendpicp n, addr18, ctl, selector, xpic, pic */
enum fault exec_sendpicp(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}

/* delay n */
enum fault exec_delay(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}

/* delaypic n, selector, value */
enum fault exec_delaypic(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}

/* delayxpic n, selector, value */
enum fault exec_delayxpic(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}

/* sans n */
enum fault exec_sans(struct tile *t, unsigned lane, const struct insn *in)
{
    return issue(t, lane, in);
}
