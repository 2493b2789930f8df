/* model_run.h - `superstep run NETWORK` and `superstep compile NETWORK`: parameters, pictures,
 * graph, compilation, execution, answer.
 */
#ifndef MODELS_MODEL_RUN_H
#define MODELS_MODEL_RUN_H

/* argv[0] is "run" or "compile". The exit code of commands.h, or -1 when no argument is the name of
 * a network. */
int model_command(int argc, char **argv);

#endif
