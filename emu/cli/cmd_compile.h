/* cmd_compile.h - `superstep compile`: a manifest to an image file. */
#ifndef EMU_CMD_COMPILE_H
#define EMU_CMD_COMPILE_H

int cmd_compile(int argc, char **argv);

#endif
