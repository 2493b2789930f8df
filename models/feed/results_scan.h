/* results_scan.h - the format of files of results, and how many whole results a file holds. */
#ifndef MODELS_RESULTS_SCAN_H
#define MODELS_RESULTS_SCAN_H

#include "emu/base/name_text.h"
#include "models/feed/results.h"

#define RESULTS_CSV_HEADER                                                                         \
    "file,index,class1,score1,class2,score2,class3,score3,class4,score4,class5,score5,file_hex\n"
#define RESULTS_CSV_HEADER_NAMES                                                                   \
    "file,index,class1,name1,score1,class2,name2,score2,class3,name3,score3,class4,name4,score4,"  \
    "class5,name5,score5,file_hex\n"
#define RESULTS_JSON_BEGIN "{\"file\": "
#define RESULTS_JSON_INDEX ", \"index\": "

struct results_found {
    uint64_t bytes;      /* of all whole lines, the header included */
    uint64_t results;    /* number of whole results */
    uint64_t last_index; /* the index in the last result */
};

/* The first line of a CSV file. */
const char *results_csv_header(int names);

/* Reads the file from its beginning, with memory for one line only. names: classes have names in
 * the file. last_name: the name in the last
 * result, as written there. Errors: EMU_BAD_FILE for another kind of file, EMU_IO, EMU_NO_MEMORY.
 */
enum emu_status results_scan(int fd, const char *path, enum results_format format, int names,
                             struct text_line *last_name, struct results_found *out) EMU_MUST_CHECK;

#endif
