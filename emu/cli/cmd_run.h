/* cmd_run.h - `superstep run`: a whole-machine program from a manifest or an image. */
#ifndef EMU_CMD_RUN_H
#define EMU_CMD_RUN_H

int cmd_run(int argc, char **argv);

#endif
