/* pipeline_turns.h - the rules of the schedules; private to models/pipeline. */
#ifndef MODELS_PIPELINE_TURNS_H
#define MODELS_PIPELINE_TURNS_H

#include "models/pipeline/pipeline_schedule.h"

/* Fills in phases, f and b for the kind, stages and micros that s has. exchanges: of a round. */
void pipeline_turns(struct pipeline_schedule *s, unsigned exchanges);

#endif
