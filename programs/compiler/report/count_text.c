/* count_text.c - digits in groups of three (see count_text.h). */
#include "programs/compiler/report/count_text.h"

struct count_text count_text(uint64_t n)
{
    struct count_text t = { { 0 } };
    char reversed[sizeof(t.at)];
    unsigned length = 0;

    for (unsigned digits = 0; n || !digits; digits++, n /= 10) {
        if (digits && digits % 3 == 0)
            reversed[length++] = ',';
        reversed[length++] = (char)('0' + n % 10);
    }
    for (unsigned i = 0; i < length; i++)
        t.at[i] = reversed[length - 1 - i];
    return t;
}
