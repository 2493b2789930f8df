/* cmd_diff.h - `superstep diff`: where two runs begin to differ. */
#ifndef EMU_CMD_DIFF_H
#define EMU_CMD_DIFF_H

int cmd_diff(int argc, char **argv);

#endif
