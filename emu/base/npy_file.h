/* npy_file.h - numpy's .npy files, versions 1 to 3: what their header says, and where their
 * elements are.
 */
#ifndef EMU_NPY_FILE_H
#define EMU_NPY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/base/fail.h"

enum { NPY_RANK_MAX = 8 };

struct npy_array {
    char type[3]; /* f2, f4, f8, i1 to i8, u1 to u8, b1: little-endian, a letter and its bytes */
    int fortran;  /* the first index runs fastest */
    unsigned rank;
    uint32_t dim[NPY_RANK_MAX];
    uint64_t elements;   /* at most 2^32 */
    unsigned unit;       /* bytes of one */
    const uint8_t *data; /* borrowed: elements x unit bytes */
};

/* Finds the array in the bytes of a file. name: for messages. EMU_BAD_FILE, EMU_NO_MEMORY. */
enum emu_status npy_find(const void *data, size_t bytes, const char *name,
                         struct npy_array *out) EMU_MUST_CHECK;
/* The same of a file. *file: its bytes, owned by the caller, also after an error. EMU_IO, too. */
enum emu_status npy_load(const char *path, void **file, struct npy_array *out) EMU_MUST_CHECK;
/* Element k as a number: exact, but for integers beyond 2^53. */
double npy_number(const struct npy_array *a, uint64_t k);

/* Writes what comes before the elements, which follow in C order. Whoever owns f asks it for
 * errors.
 */
void npy_write_header(const char *type, unsigned rank, const uint32_t *dim, FILE *f);

#endif
