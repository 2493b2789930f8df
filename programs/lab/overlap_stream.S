// overlap_stream.S - IO tiles that read TRANSFERS blocks of WORDS words each from the host, twice.
#include "overlap.h"

	.macro READ_ALL
	setzi	$m0, TRANSFERS - 1
1:	HOST_REQUEST ask
	sync	SYNC_RECV
	brnzdec	$m0, 1b
	.endm

	.supervisor
main:
	JOIN
	READ_ALL		// alone
	JOIN
	JOIN			// the others alone
	READ_ALL		// both
	JOIN
	sync	SYNC_HOST

ask:	HOST_READ 0, block, WORDS
