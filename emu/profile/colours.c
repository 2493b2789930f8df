/* colours.c - one table of colours as texts and as CSS (colours.h). */
#include "emu/profile/colours.h"

#include <string.h>

#include "emu/base/fail.h"

struct shades {
    const char *name, *light, *dark;
};

static const struct shades colours[] = {
#define COLOUR(name, light, dark) { #name, light, dark },
#include "emu/profile/colours.def"
};

static const struct {
    const char *category;
    struct shades shades;
} categories[] = {
#define CATEGORY(id, name, light, dark) { name, { #id, light, dark } },
#include "emu/profile/colours.def"
};

static const struct shades spare[] = {
#define SPARE(light, dark) { "", light, dark },
#include "emu/profile/colours.def"
};

const char *colour_light(enum colour c)
{
    return colours[c].light;
}

const char *colour_of_category(const char *category, unsigned i)
{
    for (size_t k = 0; k < EMU_COUNT_OF(categories); k++) {
        if (!strcmp(categories[k].category, category))
            return categories[k].shades.light;
    }
    return spare[i % EMU_COUNT_OF(spare)].light;
}

static void print_variables(int dark, FILE *f)
{
    for (size_t k = 0; k < EMU_COUNT_OF(colours); k++)
        fprintf(f, "--%s: %s; ", colours[k].name, dark ? colours[k].dark : colours[k].light);
    for (size_t k = 0; k < EMU_COUNT_OF(categories); k++)
        fprintf(f, "--memory-%s: %s; ", categories[k].shades.name,
                dark ? categories[k].shades.dark : categories[k].shades.light);
    for (size_t k = 0; k < EMU_COUNT_OF(spare); k++)
        fprintf(f, "--spare-%zu: %s; ", k, dark ? spare[k].dark : spare[k].light);
}

void colours_print_css(FILE *f)
{
    fputs(":root { color-scheme: light dark; --spares: ", f);
    fprintf(f, "%zu; ", EMU_COUNT_OF(spare));
    print_variables(0, f);
    fputs("}\n@media screen and (prefers-color-scheme: dark) { :root:not([data-paper]) { ", f);
    print_variables(1, f);
    fputs("} }\n", f);
}
