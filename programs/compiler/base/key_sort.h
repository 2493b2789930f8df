/* key_sort.h - sorts records by 32-bit words in them: stable, in time linear in their number.
 *
 * A key is the `words` (1 or 2) words that begin at byte `key` of each record; the first word
 * counts more. Records have at most KEY_SORT_BYTES bytes. To sort by two keys, sort by the second
 * one first.
 */
#ifndef PROGRAMS_KEY_SORT_H
#define PROGRAMS_KEY_SORT_H

#include "emu/emu.h"

#include <stddef.h>

enum { KEY_SORT_BYTES = 64 };

/* spare: room for the records; its contents are lost. */
void key_sort_in(void *at, void *spare, size_t count, size_t size, size_t key, unsigned words);

/* The same with memory of its own. The only error is EMU_NO_MEMORY. */
enum emu_status key_sort(void *at, size_t count, size_t size, size_t key,
                         unsigned words) EMU_MUST_CHECK;

/* Sorts a VEC of records of a type by words that begin with a member. */
#define KEY_SORT(list, type, member, words)                                                        \
    key_sort((list)->at, (list)->count, sizeof(type), offsetof(type, member), words)

#endif
