/* TileConstants.hpp - the name under which vertex assembly asks for the constants of the tile. */
#ifndef SUPERSTEP_POPLAR_TILE_CONSTANTS_HPP
#define SUPERSTEP_POPLAR_TILE_CONSTANTS_HPP

#include "arch/gc_tile_defines.h"

#endif
