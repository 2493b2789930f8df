/* superstep.h - what a program outside this tree includes, in C or C++: <superstep.h>, as
 * pkg-config finds it.
 *
 *   programs.h       graphs of tensors, the compiler, operations, sessions, a command line
 *   graph_file.h     graphs as files
 *   ss_network.h     networks: by name or from ONNX files, run, with cycles by layer
 *   ss_training.h    steps of training
 *   arch.h           machines and their numbers
 *   bill.h           where the cycles of a run went
 *   image_file.h     compiled programs as files
 *   run_file.h       images and manifests, run
 *   status.h         errors
 *
 * What these headers declare is all that the library exports.
 *
 * Objects that could not be made may be passed on: where a graph, network, training, machine,
 * compiled program, session, interpreter, run, image or manifest is NULL, and where a number names
 * nothing, a function that returns a status answers with an error that says so, and any other does
 * nothing and returns 0, NULL or a tensor of nothing. To add something with a tensor that is none
 * of the graph's is an error of the graph. Other pointers must be what their function says.
 */
#ifndef SUPERSTEP_H
#define SUPERSTEP_H

#include "emu/arch/arch.h"
#include "emu/arch/arch_numbers.h"
#include "emu/base/free.h"
#include "emu/base/status.h"
#include "emu/job/run_file.h"
#include "emu/load/image_file.h"
#include "emu/profile/bill.h"
#include "models/api/ss_training.h"
#include "programs/compiler/graph_file.h"
#include "programs/programs.h"

#endif
