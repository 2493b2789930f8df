/* fuzz_decode.c - any words: the decoder must not stumble, and what it accepts must encode, print
 * and assemble to the same words. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/asm/asm.h"
#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
    if (!ok)
        abort();
}

/* Assembles the text of one item alone and compares. Text with an address operand is absolute, so
 * it needs no labels. */
static void assemble(const char *text, const uint32_t *word, unsigned bytes)
{
    struct arch all = *ss_arch_preset("mk2"); /* with all instructions and registers */
    struct asm_options o = { .arch = &all, .raw = 1, .no_files = 1 };
    struct asm_unit *u;
    const struct asm_section *s;

    all.number[ARCH_NUMBER_isa] = ISA_IPU21;
    all.number[ARCH_NUMBER_main_registers] = 13;
    all.number[ARCH_NUMBER_aux_registers] = 14;
    must(asm_unit_new(&o, &u) == EMU_OK);
    if (asm_unit_add_text(u, "fuzz", text, strlen(text)) != EMU_OK ||
        asm_unit_link(u, NULL) != EMU_OK) {
        const char *why = asm_diag_at(u, 0)->text;

        /* what decodes but faults with INVALID_OP is not for assembly */
        if (strstr(why, "twice") || strstr(why, "two results")) {
            asm_unit_free(u);
            return;
        }
        asm_diag_print(u, stderr);
        fprintf(stderr, "%08x %08x: %s\n", word[0], word[1], text);
        abort();
    }
    s = &asm_unit_image(u)->section[0];
    if (s->size < bytes || memcmp(s->bytes, word, bytes)) {
        fprintf(stderr, "%08x %08x became %08x: %s\n", word[0], word[1],
                *(const uint32_t *)(const void *)s->bytes, text);
        abort();
    }
    asm_unit_free(u);
}

static void one(const uint32_t word[2])
{
    struct insn main, aux;
    char text[512], half[256];
    uint32_t again[2] = { 0, 0 };
    int is_bundle, n;
    unsigned bytes = isa_decode(word, &main, &aux, &is_bundle);

    must(bytes == 4 || bytes == 8);
    if (main.op == INSN_ILLEGAL || (is_bundle && aux.op == INSN_ILLEGAL))
        return;
    isa_registers(&main);
    if (!is_bundle)
        isa_encode(&main, again);
    n = isa_print(&main, NULL, half, sizeof(half));
    must(n > 0 && n < (int)sizeof(half));
    snprintf(text, sizeof(text), ".allow_invalid_execution_mode\n.allow_invalid_repeat\n%s\n",
             half);
    if (is_bundle) {
        char other[256];

        if (isa_registers(&main).a_write & isa_registers(&aux).a_write)
            return;
        isa_encode_bundle(&main, &aux, again);
        isa_print(&aux, NULL, other, sizeof(other));
        snprintf(text, sizeof(text),
                 ".allow_invalid_execution_mode\n.allow_invalid_repeat\n{ %s; %s }\n", half, other);
    }
    must(again[0] == word[0] && (bytes == 4 || again[1] == word[1]));
    if (main.op != INSN_rpt_r && main.op != INSN_rpt_i) /* a repeat needs its body after it */
        assemble(text, word, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t word[2] = { 0, 0 };

    if (size < 4)
        return 0;
    memcpy(word, data, size < 8 ? 4 : 8);
    one(word);
    return 0;
}
