/* cmd_stream.h - `superstep stream`: pictures from files through a network, results into a file. */
#ifndef MODELS_CMD_STREAM_H
#define MODELS_CMD_STREAM_H

int cmd_stream(int argc, char **argv);

#endif
