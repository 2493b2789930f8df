/* docs_folder.h - where the pages are that help and lessons speak of. */
#ifndef EMU_DOCS_FOLDER_H
#define EMU_DOCS_FOLDER_H

/* The folder with course.md and the others, without a slash at its end: PREFIX/share/doc/superstep
 * of an installed program, docs of the tree that it was built in. "docs" where neither is there.
 * Stays valid. */
const char *docs_folder(void);

#endif
