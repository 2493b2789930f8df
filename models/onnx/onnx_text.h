/* onnx_text.h - names and other short texts of a file, which do not end with a zero there. */
#ifndef MODELS_ONNX_TEXT_H
#define MODELS_ONNX_TEXT_H

#include "models/onnx/onnx_wire.h"

enum { ONNX_TEXT_MAX = 1024 }; /* bytes of a name */

/* EMU_BAD_FILE: longer, no UTF-8, or with control characters. */
enum emu_status onnx_text_check(struct wire_span s) EMU_MUST_CHECK;
/* out: the text, which onnx_text_check() accepts, and a zero. Returns out. */
char *onnx_text_copy(struct wire_span s, char out[ONNX_TEXT_MAX + 1]);
int onnx_text_is(struct wire_span s, const char *text);
int onnx_text_same(struct wire_span a, struct wire_span b);
/* Decimal digits. EMU_BAD_FILE. */
enum emu_status onnx_text_number(struct wire_span s, uint64_t *out) EMU_MUST_CHECK;

/* For messages: "%.*s", ONNX_SHOWN(span), of a text that onnx_text_check() accepts; the end of a
 * long one is left out. */
int onnx_text_shown(struct wire_span s);
#define ONNX_SHOWN(s) onnx_text_shown(s), (const char *)(s).at

#endif
