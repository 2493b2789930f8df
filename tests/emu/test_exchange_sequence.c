/* test_exchange_sequence.c - sequences are executed on paper and held against the messages they
 * were made from. */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

#include <string.h>

#include "emu/isa/exchange_sequence.h"

enum { EVENTS = 8192, NULL_SOURCE = 1600, MESSAGES = 40 };

/* What happens at every event of a tile that executes a sequence. */
struct encode_paper {
    int32_t sent[EVENTS]; /* word address, -1: nothing */
    uint32_t ctl[EVENTS], source[EVENTS];
    int32_t pic[EVENTS]; /* pointer written at this event, in words; -1: none */
};

static struct encode_paper paper;

/* Executes the code as docs/exchange.md 3 says; checks that events and addresses of the code fit.
 */
static void execute(const struct exchange_sequence *p, const struct sequence_options *o)
{
    uint32_t event = o->first_event, bytes = o->misaligned ? 4 : 0, source = NULL_SOURCE;
    int64_t stream = 0;
    uint32_t ctl = 0;

    memset(&paper, 0xff, sizeof(paper));
    for (uint32_t e = 0; e < EVENTS; e++)
        paper.source[e] = NULL_SOURCE;
    for (size_t i = 0; i < p->count; i++) {
        const struct exchange_insn *c = &p->code[i];
        int waits =
            c->op == EXCHANGE_DELAY || c->op == EXCHANGE_DELAYXPIC || c->op == EXCHANGE_DELAYPIC;
        uint32_t change = waits ? event + c->events - 1 : event;

        assert_int_equal(c->event, event);
        assert_true(c->events >= 1);
        if (c->op == EXCHANGE_SENDPICP)
            assert_int_equal(bytes % 8, 0);
        bytes += c->op == EXCHANGE_SENDPICP ? 8 : 4;
        if (c->op == EXCHANGE_SEND || c->op == EXCHANGE_SENDPICP) {
            stream = c->from.bytes / 4;
            ctl = c->ctl;
            assert_true(c->events <= 64);
        }
        if (c->op == EXCHANGE_SENDOFF) {
            ctl = c->ctl;
            assert_true(c->events <= 4096);
        }
        if (c->op == EXCHANGE_SENDXPIC || c->op == EXCHANGE_SENDPIC)
            assert_true(c->events <= 64);
        if (c->op == EXCHANGE_DELAYXPIC)
            assert_true(c->events <= 4096);
        if (c->op == EXCHANGE_DELAYPIC)
            assert_true(c->events <= 128);
        if (c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_SENDXPIC ||
            c->op == EXCHANGE_DELAYXPIC) {
            for (uint32_t e = change; e < EVENTS; e++)
                paper.source[e] = c->source;
            source = c->source;
        }
        if (c->op == EXCHANGE_SENDPICP || c->op == EXCHANGE_SENDPIC || c->op == EXCHANGE_DELAYPIC)
            paper.pic[change] = (int32_t)(c->to.bytes / 4);
        for (uint32_t k = 0; k < c->events; k++, event++) {
            if (waits || !ctl)
                continue;
            paper.sent[event] = (int32_t)stream;
            paper.ctl[event] = ctl;
            stream++;
        }
        if (!waits && !ctl)
            stream += c->events;
    }
    assert_int_equal(event, p->end_event);
    if (p->count)
        assert_int_equal(source, NULL_SOURCE);
}

static void compare_sends(const struct timed_send *send, size_t sends)
{
    static int32_t want[EVENTS];

    memset(want, 0xff, sizeof(want));
    for (size_t i = 0; i < sends; i++) {
        for (uint32_t k = 0; k < send[i].words; k++) {
            uint32_t e = (uint32_t)send[i].event + k;

            want[e] = (int32_t)(send[i].addr.bytes / 4 + k);
            assert_int_equal(paper.ctl[e], send[i].ctl);
        }
    }
    assert_memory_equal(want, paper.sent, sizeof(want));
}

static void compare_receives(const struct timed_receive *receive, size_t receives, int lag)
{
    static uint32_t source[EVENTS];
    int32_t pointer = -1;
    size_t next = 0;

    for (uint32_t e = 0; e < EVENTS; e++)
        source[e] = NULL_SOURCE;
    for (size_t i = 0; i < receives; i++) {
        for (uint32_t k = 0; k < receive[i].words; k++) {
            uint32_t e = (uint32_t)receive[i].event + k;

            for (; next < EVENTS && (int)next - lag <= (int)e; next++) {
                if (paper.pic[next] >= 0)
                    pointer = paper.pic[next];
            }
            assert_int_equal(pointer, receive[i].addr.bytes / 4 + k);
            pointer++;
            source[e] = receive[i].source;
        }
    }
    assert_memory_equal(source, paper.source, sizeof(source));
}

static enum emu_status try_sequence(const struct sequence_options *o, struct timed_send *send,
                                    size_t sends, struct timed_receive *receive, size_t receives)
{
    struct exchange_sequence p = { .code = NULL };
    size_t culprit;
    enum emu_status s = exchange_sequence(o, send, sends, receive, receives, &p, &culprit);

    if (s != EMU_OK) {
        assert_null(p.code);
        return s;
    }
    execute(&p, o);
    compare_sends(send, sends);
    compare_receives(receive, receives, (int)o->pic_lag);
    exchange_sequence_free(&p);
    return EMU_OK;
}

static void random_sequences(void **state)
{
    static const uint32_t lags[] = { 0, 1, 52, 96 };
    uint64_t r = 1;
    unsigned built = 0, refused = 0;

    (void)state;
    for (unsigned round = 0; round < 3000; round++) {
        struct timed_send send[MESSAGES];
        struct timed_receive receive[MESSAGES];
        struct sequence_options o = { .null_source = NULL_SOURCE,
                                      .pic_lag = lags[random_below(&r, 4)],
                                      .first_event = random_below(&r, 3) ? 0 : random_below(&r, 9),
                                      .misaligned = (int)random_below(&r, 2) };
        size_t sends = random_below(&r, MESSAGES), receives = random_below(&r, MESSAGES);
        uint32_t gap = 1 + random_below(&r, 4), longest = random_below(&r, 4) ? 6 : 150;
        int64_t event = o.first_event;
        int64_t addr = 0;

        for (size_t i = 0; i < sends; i++) {
            event += random_below(&r, gap);
            addr = random_below(&r, 3) ? 4 * random_below(&r, 9999) : addr;
            send[i] = (struct timed_send){ .event = event, .ctl = 1 + random_below(&r, 3) };
            send[i].words = 1 + random_below(&r, longest);
            send[i].addr.bytes = addr;
            event += send[i].words;
            addr += 4 * send[i].words;
        }
        event = o.first_event;
        for (size_t i = 0; i < receives; i++) {
            event += random_below(&r, gap);
            addr = random_below(&r, 3) ? 4 * random_below(&r, 9999) : addr;
            receive[i] = (struct timed_receive){ .event = event, .source = random_below(&r, 16) };
            receive[i].words = 1 + random_below(&r, longest);
            receive[i].addr.bytes = addr;
            event += receive[i].words;
            addr += 4 * receive[i].words;
        }
        if (try_sequence(&o, send, sends, receive, receives) == EMU_OK) {
            built++;
        } else {
            assert_true(o.misaligned);
            assert_non_null(strstr(ss_error(), "nop"));
            refused++;
        }
    }
    assert_true(built > 2000);
    assert_true(refused > 0); /* the one case that only its caller can mend */
}

static void long_waits_and_sends(void **state)
{
    struct sequence_options o = { .null_source = NULL_SOURCE, .pic_lag = 5 };
    struct timed_send send[] = { { .event = 10, .words = 5000, .ctl = 3 } };
    struct timed_receive receive[] = { { .event = 6000, .words = 1500, .source = 7 } };

    (void)state;
    assert_int_equal(try_sequence(&o, send, 1, receive, 1), EMU_OK);
    receive[0].event = 10;
    send[0] = (struct timed_send){ .event = 6500, .words = 1, .ctl = 1 };
    assert_int_equal(try_sequence(&o, send, 1, receive, 1), EMU_OK);
    assert_int_equal(try_sequence(&o, send, 0, receive, 0), EMU_OK);
}

static void refuse(struct timed_send *send, size_t sends, struct timed_receive *receive,
                   size_t receives, size_t want, const char *text)
{
    struct sequence_options o = { .null_source = NULL_SOURCE, .pic_lag = 5 };
    struct exchange_sequence p = { .code = NULL };
    size_t culprit;

    assert_int_equal(exchange_sequence(&o, send, sends, receive, receives, &p, &culprit),
                     EMU_BAD_EXCHANGE);
    assert_int_equal(culprit, want);
    assert_non_null(strstr(ss_error(), text));
    assert_null(p.code);
}

static void mistakes(void **state)
{
    struct timed_send send[] = { { .event = 8, .words = 4, .ctl = 3 },
                                 { .event = 3, .words = 6, .ctl = 3 } };
    struct timed_receive receive[] = { { .event = 0, .words = 4, .source = 1 },
                                       { .event = 3, .words = 1, .source = 2 } };

    (void)state;
    refuse(send, 2, receive, 1, 2, "lasts to event 8");
    refuse(send, 1, receive, 2, 1, "lasts to event 3");
    receive[0].event = -28;
    refuse(send, 1, receive, 1, 0, "28 events too early");
    send[0].words = 0;
    refuse(send, 1, receive, 0, 0, "no words to send");
    send[0] = (struct timed_send){ .event = INT64_C(1) << 30, .words = 1, .ctl = 1 };
    refuse(send, 1, receive, 0, 0, "later than any exchange");
}

static void no_memory(void **state)
{
    struct sequence_options o = { .null_source = NULL_SOURCE };
    struct timed_send send = { .event = 0, .words = 4, .ctl = 3 };
    struct timed_receive receive = { .event = 2, .words = 4, .source = 1 };

    (void)state;
    for (long n = 0;; n++) {
        struct exchange_sequence p = { .code = NULL };
        long live = alloc_live();
        size_t culprit;
        enum emu_status s;

        alloc_test_fail_at(n);
        s = exchange_sequence(&o, &send, 1, &receive, 1, &p, &culprit);
        alloc_test_fail_at(-1);
        if (s == EMU_OK) {
            assert_true(n >= 3);
            exchange_sequence_free(&p);
            break;
        }
        assert_int_equal(s, EMU_NO_MEMORY);
        assert_int_equal(alloc_live(), live);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sequences),
        cmocka_unit_test(long_waits_and_sends),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(no_memory),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
