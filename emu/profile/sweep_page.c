/* sweep_page.c - the data of sweep_page.html: the report as JSON, and the values of axes as
 * numbers.
 */
#include "emu/profile/sweep_page.h"

#include <string.h>

#include "emu/base/embedded.h"
#include "emu/profile/colours.h"
#include "emu/profile/profile_table.h"
#include "emu/profile/report_page.h"
#include "emu/profile/sweep_report.h"

static enum emu_status print_page(const json_t *o, FILE *f)
{
    static const char colours[] = "@COLOURS@", data[] = "@DATA@";
    const struct embedded_file *page = embedded_find("emu/profile/page/sweep_page.html");
    const char *text = page ? (const char *)page->data : "", *style = strstr(text, colours);
    const char *at = style ? strstr(style, data) : NULL;

    EMU_ASSERT(at);
    fwrite(text, 1, (size_t)(style - text), f);
    colours_print_css(f);
    style += strlen(colours);
    fwrite(style, 1, (size_t)(at - style), f);
    TRY(page_print_data(o, f));
    fputs(at + strlen(data), f);
    return EMU_OK;
}

enum emu_status sweep_page_write(struct profile *p, FILE *f)
{
    json_t *o, *choices = NULL;
    enum emu_status s;

    TRY(sweep_report_json(p, &o));
    s = profile_rows_json(
        p,
        "SELECT a.name, a.kind, a.unit, a.stage, c.value, c.number FROM axes a JOIN "
        "choices c USING (axis) ORDER BY a.axis, c.position",
        &choices);
    if (s == EMU_OK && json_object_set_new(o, "choices", choices))
        s = FAIL(NO_MEMORY, "a page");
    if (s == EMU_OK)
        s = print_page(o, f);
    json_decref(o);
    return s;
}
