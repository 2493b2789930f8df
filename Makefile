# Superstep: the only build file. `make help` lists the targets.
MODE ?= release
CC   ?= cc
V    ?= 0
Q    := $(if $(filter 1,$(V)),,@)
O    := build/obj/$(MODE)
B    := $(if $(filter release,$(MODE)),build,build/$(MODE))

# Same bits with every compiler and level: no contraction, no fast-math. Baseline x86-64-v3 (AVX2, FMA, F16C).
FP       := -ffp-contract=off -fno-fast-math
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla
OPT      ?= -O2
ARCHF    ?= -march=x86-64-v3
CPPFLAGS += -I. -D_GNU_SOURCE
CFLAGS   += -std=gnu11 -g $(OPT) $(ARCHF) $(FP) $(WARN) -fopenmp -MMD -MP
LDLIBS   += -ljansson -lzstd -lm
ifeq ($(MODE),asan)
CFLAGS   += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT      := -O1
endif

LIB_SRC  := $(filter-out emu/fuzz/%,$(wildcard emu/*/*.c programs/*/*.c models/*/*.c))
LIB_OBJ  := $(patsubst %.c,$(O)/%.o,$(filter-out models/cli/main.c,$(LIB_SRC)))
LIB      := $(O)/libsuperstep.a
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(patsubst tests/unit/%.c,$(O)/unit/%,$(UNIT_SRC))

all: $(B)/superstep ## build build/superstep

$(B)/superstep: $(O)/models/cli/main.o $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

$(LIB): $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

$(O)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC $<")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(O)/unit/%: tests/unit/%.c $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $< $(LIB) $(LDFLAGS) $(LDLIBS) -lcmocka -lmpfr -lgmp

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@awk -F': .*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

.PHONY: all clean help
-include $(shell find $(O) -name '*.d' 2>/dev/null)
