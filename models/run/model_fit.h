/* model_fit.h - the answer for a network that does not fit its machine: what it needs, and which
 * changes would make it fit.
 */
#ifndef MODELS_MODEL_FIT_H
#define MODELS_MODEL_FIT_H

#include "models/run/fit_search.h"
#include "models/ask/model_source.h"
#include "programs/programs.h"

/* The network of a changed request, ready to be lowered; prints nothing. Parameters of a network by
 * name are zero, which takes as much memory. Errors: those of model_source_open() and
 * model_source_finish(). Free with model_source_free, also after an error. */
enum emu_status model_source_open_blank(const struct request *q, const struct arch *a,
                                        struct model_source *out) EMU_MUST_CHECK;

/* Tries which changes would make a network fit. Sets which of its numbers may be lowered, and, as
 * subject->ctx, a store of schedules that the tries share (NULL: there is none). */
void fit_search_source(struct fit_subject *subject, const struct model_source *s,
                       struct fit_findings *out);

/* The same of a program that runs once. need_bytes: of the tile that needs most. */
void model_fit_search(const struct request *q, const struct arch *a, const struct model_source *s,
                      uint64_t need_bytes, struct fit_findings *out);

/* Prints what c needs, which was compiled and does not fit, with what was found instead of the
 * compiler's own advice; as JSON if the request says so. Sets the exit code. Errors:
 * EMU_NO_MEMORY. */
enum emu_status fit_report(const struct request *q, struct compiled *c,
                           const struct fit_findings *found, FILE *f, int *code) EMU_MUST_CHECK;

/* The same of a network that was not compiled, because its plans need far more (struct
 * op_program_options). */
void model_hopeless(const struct model_facts *n, const struct conv_plans *p, const struct arch *a,
                    const struct fit_findings *found, FILE *f);
/* As JSON: a new object; NULL when out of memory. */
json_t *model_hopeless_json(const struct model_facts *n, const struct conv_plans *p,
                            const struct arch *a, const struct fit_findings *found);

#endif
