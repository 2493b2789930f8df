/* api.h - what a program outside this tree may call, in C and in C++: what is declared between
 * SUPERSTEP_API_BEGIN and SUPERSTEP_API_END. All other names are hidden in the library
 * (-fvisibility=hidden), also those of the same source file.
 *
 * A header with these two words is public: it includes system headers and other public headers
 * only, everything in it is documented for users, and superstep.h includes it.
 */
#ifndef EMU_API_H
#define EMU_API_H

#ifdef __cplusplus
#define SUPERSTEP_API_BEGIN                                                                        \
    _Pragma("GCC visibility push(default)") extern "C"                                             \
    {
#define SUPERSTEP_API_END                                                                          \
    }                                                                                              \
    _Pragma("GCC visibility pop")
#else
#define SUPERSTEP_API_BEGIN _Pragma("GCC visibility push(default)")
#define SUPERSTEP_API_END   _Pragma("GCC visibility pop")
#endif

#endif
