/* exchange_state.c - puts the fabric away and back: what tiles have logged since their last sync.
 * Phases that were resolved stay in the cache, which depends on nothing but logs.
 */
#include "emu/exchange/exchange_private.h"
#include "emu/exchange/exchange_state.h"

static void save_log(const struct exchange_log *log, struct byte_store *out)
{
    EMU_ASSERT(!log->requests); /* the machine takes them before it stops */
    byte_put(out, log, sizeof(*log));
    byte_put_list(out, log->send, log->sends, sizeof(*log->send));
    byte_put_list(out, log->mux, log->muxes, sizeof(*log->mux));
    byte_put_list(out, log->pic, log->pics, sizeof(*log->pic));
    byte_put_list(out, log->fetch, log->fetches, sizeof(*log->fetch));
    byte_put_list(out, log->transfer, log->transfers, sizeof(*log->transfer));
    byte_put_list(out, log->payload, log->payload_bytes, 1);
}

void exchange_save(const struct exchange *x, struct byte_store *out)
{
    EMU_ASSERT(!x->options.check);
    byte_put(out, &x->fault, sizeof(x->fault));
    for (uint32_t i = 0; i < x->tiles; i++)
        save_log(&x->log[i], out);
}

/* The lists of the log are those that it has now, with their rooms. */
static enum emu_status restore_log(struct exchange_log *log, struct byte_store *from)
{
    struct exchange_log now = *log;

    byte_take(from, log, sizeof(*log));
    log->send = now.send;
    log->mux = now.mux;
    log->pic = now.pic;
    log->fetch = now.fetch;
    log->request = now.request;
    log->send_cap = now.send_cap;
    log->mux_cap = now.mux_cap;
    log->pic_cap = now.pic_cap;
    log->fetch_cap = now.fetch_cap;
    log->request_cap = now.request_cap;
    log->transfer = now.transfer;
    log->transfer_cap = now.transfer_cap;
    log->payload = now.payload;
    log->payload_cap = now.payload_cap;
    TRY(byte_take_list(from, (void **)&log->send, &log->sends, &log->send_cap, sizeof(*log->send)));
    TRY(byte_take_list(from, (void **)&log->mux, &log->muxes, &log->mux_cap, sizeof(*log->mux)));
    TRY(byte_take_list(from, (void **)&log->pic, &log->pics, &log->pic_cap, sizeof(*log->pic)));
    TRY(byte_take_list(from, (void **)&log->fetch, &log->fetches, &log->fetch_cap,
                       sizeof(*log->fetch)));
    TRY(byte_take_list(from, (void **)&log->transfer, &log->transfers, &log->transfer_cap,
                       sizeof(*log->transfer)));
    return byte_take_list(from, (void **)&log->payload, &log->payload_bytes, &log->payload_cap, 1);
}

enum emu_status exchange_restore(struct exchange *x, struct byte_store *from)
{
    byte_take(from, &x->fault, sizeof(x->fault));
    for (uint32_t i = 0; i < x->tiles; i++) {
        exchange_take_requests(x, i); /* after a fault there may be some */
        TRY(restore_log(&x->log[i], from));
    }
    return EMU_OK;
}
