/* dataset_class_folder.c - a directory with a folder of pictures for each class. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/base/alloc.h"
#include "models/data/dataset_formats.h"
#include "models/feed/feed_folder.h"
#include "models/feed/feed_names.h"

enum { NAMES_MOST = 1 << 24 }; /* of one folder */

static int is_folder(const char *path)
{
    struct stat st;

    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Where the classes of a part are; 0: nowhere. */
static int root_of(const char *dir, enum dataset_part part, char out[DATASET_PATH])
{
    static const char *const name[][2] = { { "train", "train" }, { "val", "test" } };

    for (unsigned k = 0; k < 2; k++) {
        if (is_folder(dataset_path(dir, name[part][k], out)))
            return 1;
    }
    snprintf(out, DATASET_PATH, "%s", dir);
    return part == DATASET_TRAIN && is_folder(dir);
}

static int is_class(const char *root, const struct folder_entry *e)
{
    char path[DATASET_PATH];

    return e->name[0] != '.' && is_folder(dataset_path(root, e->name, path));
}

static int has(const char *dir, enum dataset_part part)
{
    char root[DATASET_PATH];
    struct folder f = { 0 };
    int found = 0;

    if (!root_of(dir, part, root) || folder_read(&f, root, NAMES_MOST) != EMU_OK)
        return 0;
    for (size_t k = 0; k < f.count && !found; k++)
        found = is_class(root, &f.entry[k]);
    folder_free(&f);
    return found;
}

/* Appends a picture of the class that is read. cap: of the lists of d. */
static enum emu_status add_picture(struct dataset *d, const char *path, size_t *cap)
{
    if (d->samples == *cap) {
        size_t more = 2 * *cap + 64;
        char **paths = emu_realloc(d->path, more, sizeof(*paths));
        uint32_t *labels;

        d->path = paths ? paths : d->path;
        labels = paths ? emu_realloc(d->label, more, sizeof(*labels)) : NULL;
        d->label = labels ? labels : d->label;
        if (!labels)
            return FAIL(NO_MEMORY, "names of pictures");
        *cap = more;
    }
    d->path[d->samples] = emu_strdup(path);
    if (!d->path[d->samples])
        return FAIL(NO_MEMORY, "names of pictures");
    d->label[d->samples++] = d->classes;
    return EMU_OK;
}

/* Appends the pictures of a class. */
static enum emu_status add_class(struct dataset *d, const char *root, const char *name, size_t *cap)
{
    char folder[DATASET_PATH], path[DATASET_PATH];
    struct folder f = { 0 };
    uint64_t before = d->samples;
    enum emu_status s = folder_read(&f, dataset_path(root, name, folder), NAMES_MOST);

    if (s != EMU_OK)
        return ss_fail(s, "%s: %s", folder, ss_error());
    for (size_t k = 0; s == EMU_OK && k < f.count; k++) {
        if (!feed_is_picture_name(f.entry[k].name))
            continue;
        s = add_picture(d, dataset_path(folder, f.entry[k].name, path), cap);
    }
    folder_free(&f);
    if (s == EMU_OK && d->samples == before)
        s = FAIL(BAD_FILE, "%s: a class without pictures (.jpg, .jpeg, .png)", folder);
    return s;
}

static enum emu_status open_folder(const char *dir, enum dataset_part part, struct dataset *d)
{
    char root[DATASET_PATH];
    struct folder f = { 0 };
    size_t cap = 0;
    enum emu_status s;

    root_of(dir, part, root);
    d->channels = 3;
    s = folder_read(&f, root, NAMES_MOST);
    if (s != EMU_OK)
        return ss_fail(s, "%s: %s", root, ss_error());
    d->name = emu_alloc(f.count + 1, sizeof(*d->name));
    if (!d->name)
        s = FAIL(NO_MEMORY, "names of classes");
    for (size_t k = 0; s == EMU_OK && k < f.count; k++) {
        if (!is_class(root, &f.entry[k]))
            continue;
        s = add_class(d, root, f.entry[k].name, &cap);
        if (s == EMU_OK) {
            d->name[d->classes] = emu_strdup(f.entry[k].name);
            if (!d->name[d->classes++])
                s = FAIL(NO_MEMORY, "names of classes");
        }
        if (s == EMU_OK && d->classes > DATASET_CLASSES_MAX)
            s = FAIL(BAD_FILE, "%s: more than %d classes", root, DATASET_CLASSES_MAX);
    }
    folder_free(&f);
    return s;
}

const struct dataset_format dataset_folder = { "folders", has, open_folder };
