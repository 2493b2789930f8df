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
# One set of objects for the program and both libraries: they may lie anywhere, and what is in no public header
# (emu/base/api.h) is called directly.
SHARE    := -fPIC -fvisibility=hidden -fno-semantic-interposition
CPPFLAGS += -I. -D_GNU_SOURCE
CFLAGS   += -std=gnu11 -g $(OPT) $(ARCHF) $(FP) $(WARN) $(SHARE) -fopenmp -MMD -MP
LDLIBS   += -ljansson -lzstd -lsqlite3 -ledit -ljpeg -lpng -lz -lm
ifeq ($(MODE),asan)
CFLAGS   += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT      := -O1
endif

ifeq ($(MODE),coverage)
CFLAGS   += --coverage -fprofile-update=atomic
OPT      := -O1
endif

ifeq ($(MODE),fuzz)
CFLAGS   += -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=undefined -DFUZZING
endif

LIB_SRC  := $(wildcard emu/*/*.c programs/*/*.c programs/*/*/*.c models/*/*.c)
LIB_OBJ  := $(patsubst %.c,$(O)/%.o,$(filter-out models/cli/main.c emu/asm/embed_%.c,$(LIB_SRC))) $(O)/embedded.o
VERSION  := 0.3
# Of the shared library: raised when a program that was linked before would not run any more (docs/howto/own_program.md).
ABI      := 0
LIB      := $(O)/libsuperstep.a
SHARED   := $(O)/libsuperstep.so.$(VERSION)
UNIT_SRC := $(wildcard tests/emu/test_*.c tests/compiler/test_*.c tests/library/test_*.c tests/models/test_*.c)
UNIT_BIN := $(patsubst tests/%.c,$(O)/tests/%,$(UNIT_SRC))
FIXTURES := $(O)/tests/fixtures.a
# What a link takes of its prerequisites: headers are there, too, once a .d file names them.
LINKED    = $(filter-out %.h %.def %.inc,$^)

# gcc's OpenMP inside the program: then main.c can say how its threads wait before it asks. clang's asks later.
GOMP     := $(if $(findstring clang,$(CC)),,$(wildcard $(shell $(CC) -print-file-name=libgomp.a)))

all: $(B)/superstep ## build build/superstep
	@echo "built $<; next: $< run efficientnet-b4, or make help"

$(B)/superstep: $(O)/models/cli/main.o $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS) $(GOMP)

# What --version says; written only when it is something else.
$(O)/version.h: FORCE
	@mkdir -p $(@D)
	@c=$$(git describe --always --dirty 2>/dev/null || echo unknown); \
	text="#define SUPERSTEP_VERSION \"$(VERSION) (commit $$c)\""; echo "$$text" | cmp -s - $@ || echo "$$text" >$@

$(O)/emu/cli/program_version.o: $(O)/version.h
$(O)/emu/cli/program_version.o: CPPFLAGS += -include $(O)/version.h

# The same program with one object compiled for Open MPI (docs/sweep.md); MPI=1 builds it with the others.
HAS_MPI  := $(shell pkg-config --exists ompi-c 2>/dev/null && command -v mpirun >/dev/null && echo 1)
all: $(if $(filter 1,$(MPI)),$(B)/superstep-mpi)

mpi: $(B)/superstep-mpi ## build build/superstep-mpi, for sweeps under mpirun; needs Open MPI

$(O)/mpi/sweep_mpi.o: models/sweep/sweep_mpi.c Makefile
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -DSUPERSTEP_MPI $(shell pkg-config --cflags ompi-c 2>/dev/null) $(CFLAGS) -c -o $@ $<

$(B)/superstep-mpi: $(O)/models/cli/main.o $(O)/mpi/sweep_mpi.o $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS) $(GOMP) $(shell pkg-config --libs ompi-c)

$(LIB): $(LIB_OBJ)
	$(Q)rm -f $@ && ar rcs $@ $^

# What it exports: the names that its headers declare.
$(O)/superstep.map: models/api/declared_names.awk $(LIB_OBJ)
	$(Q)echo '#include "models/api/superstep.h"' | $(CC) -I$(CURDIR) -E -x c - >$(O)/superstep.i
	$(Q)awk -v root=$(CURDIR) -f $< $(O)/superstep.i | sort | awk 'BEGIN { print "SUPERSTEP_$(ABI) { global:" } { print "    " $$0 ";" } END { print "local: *; };" }' >$@

# Only installed: the program has the objects in it.
$(SHARED): $(O)/superstep.map $(LIB_OBJ)
	$(Q)$(CC) $(CFLAGS) -shared -Wl,-soname,libsuperstep.so.$(ABI) -Wl,--version-script=$< -o $@ $(LIB_OBJ) $(LDFLAGS) $(LDLIBS)

# Files that are part of the program (emu/base/embedded.h). Tools made of the assembler assemble the kernels and preprocess the lab's sources.
TOOL_OBJ := $(patsubst %.c,$(O)/%.o,$(filter-out emu/asm/embed_%.c,$(wildcard emu/base/*.c emu/arch/*.c emu/isa/*.c emu/asm/*.c)))
KERNELS  := $(wildcard programs/library/*/*.S)
LAB_JSON := $(wildcard programs/lab/*.bsp.json)
EMBEDDED := kernels=$(O)/kernels.object $(foreach m,$(LAB_JSON),$(m)=$(O)/$(m)) $(wildcard programs/lab/codelet/*.S programs/lab/*.S programs/lab/exercise/*.S programs/lab/exercise/*.json programs/lab/solution/*.S models/pictures/* emu/asm/include/*/* emu/profile/*.sql emu/profile/page/*)

$(O)/embed_%: $(O)/emu/asm/embed_%.o $(TOOL_OBJ)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

$(O)/kernels.object: $(O)/embed_kernels $(KERNELS) $(wildcard programs/library/*/*.inc programs/library/*/*.def emu/asm/include/*/*)
	$(Q)$< $@ $(KERNELS)

$(O)/programs/lab/%.bsp.json: programs/lab/%.bsp.json $(O)/embed_manifest $(wildcard programs/lab/*.S programs/lab/*.h emu/asm/include/*/*)
	@mkdir -p $(@D)
	$(Q)$(O)/embed_manifest $@ $<

$(O)/embedded.S: emu/base/embed_files.sh $(foreach e,$(EMBEDDED),$(lastword $(subst =, ,$e))) Makefile
	$(Q)emu/base/embed_files.sh $(EMBEDDED) > $@

$(O)/embedded.o: $(O)/embedded.S
	$(Q)$(CC) -c -o $@ $<

$(O)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC $<")
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(FIXTURES): $(patsubst %.c,$(O)/%.o,$(wildcard tests/fixtures/*.c))
	$(Q)rm -f $@ && ar rcs $@ $^

$(UNIT_BIN): $(O)/tests/%: $(O)/tests/%.o $(FIXTURES) $(LIB)
	$(Q)$(CC) $(CFLAGS) -o $@ $(filter %.o %.a,$^) $(LDFLAGS) $(LDLIBS) -lcmocka -lmpfr -lgmp

ISA_BIN  := $(O)/isa/run_isa
BENCH    := $(patsubst tests/bench/%.c,$(O)/bench/%,$(wildcard tests/bench/bench_*.c))
FUZZERS  := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SECONDS ?= 600

$(O)/isa/run_isa: $(patsubst %.c,$(O)/%.o,$(wildcard tests/isa/*.c)) $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

MATRIX   := $(O)/matrix/run_matrix

$(MATRIX): $(patsubst %.c,$(O)/%.o,$(wildcard tests/matrix/*.c)) $(FIXTURES) $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(LDFLAGS) $(LDLIBS)

$(O)/bench/%: tests/bench/%.c $(FIXTURES) $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(LINKED) $(LDFLAGS) $(LDLIBS) -lcmocka

# What scripts of tests/long need besides the superstep program.
$(O)/long/%: tests/long/%.c $(FIXTURES) $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -o $@ $(LINKED) $(LDFLAGS) $(LDLIBS)

# What users keep between runs touches no test and no bench, and these leave nothing there.
export SUPERSTEP_CACHE :=

check: check-layers check-format check-headers check-fields check-docs check-unit check-isa check-cases check-lab check-figures check-step check-outcomes check-cache check-sweep check-matrix check-input check-alone check-install ## everything a commit must pass

check-layers: ## no include crosses a layer the wrong way; no word or number of a higher floor leaks down
	$(Q)tests/check_layers.sh

check-headers: $(O)/headers.ok ## every header compiles by itself; source files have different names

$(O)/headers.ok: tests/check_headers.sh $(wildcard emu/*/*.h programs/*.h programs/*/*.h programs/*/*/*.h models/*/*.h tests/*/*.h)
	@mkdir -p $(@D)
	$(Q)CC="$(CC)" CPPFLAGS="$(CPPFLAGS)" tests/check_headers.sh && touch $@

check-fields: ## fields of kernels that are misspelt, missing or of another type do not compile
	$(Q)CC="$(CC)" CPPFLAGS="$(CPPFLAGS)" tests/check_fields.sh

check-docs: ## the pages of docs/ agree with the tables of emu/, their links lead somewhere; every long test is in a part of the rotation
	$(Q)tests/check_docs.sh
	$(Q)tests/rotation.sh --check

check-unit: $(UNIT_BIN) ## unit tests, one binary per file; how many objects are compiled with a row of a table
	$(Q)tests/check_reach.sh $(O)
	$(Q)tests/run_unit.sh $(UNIT_BIN)

check-isa: $(ISA_BIN) ## every row of the instruction table: ordinary, edge and faulting cases
	$(Q)$(ISA_BIN) tests/isa/*.isa

check-cases: $(B)/superstep ## whole programs on one tile
	$(Q)tests/run_cases.sh $(B)/superstep tests/cases/*.json

check-lab: $(B)/superstep ## whole-machine programs of programs/lab: assembly, then graphs
	$(Q)tests/run_lab.sh $(B)/superstep programs/lab/*.bsp.json
	$(Q)tests/run_lab_chips.sh $(B)/superstep
	$(Q)tests/run_graph_chips.sh $(B)/superstep
	$(Q)tests/run_lab_programs.sh $(B)/superstep tests/programs/lab.expect
	$(Q)tests/run_classics.sh $(B)/superstep
	$(Q)tests/run_lessons.sh $(B)/superstep
	$(Q)tests/run_exercises.sh $(B)/superstep
	$(Q)tests/run_course.sh $(B)/superstep

check-figures: $(B)/superstep ## figures of short runs that the pages show
	$(Q)tests/run_figures.sh $(B)/superstep

check-step: $(B)/superstep ## scripts of the stepper
	$(Q)tests/run_step.sh $(B)/superstep tests/step/*.script

check-outcomes: $(B)/superstep ## how runs end: status, exit status, what they say
	$(Q)tests/run_outcomes.sh $(B)/superstep
	$(Q)tests/run_json.sh $(B)/superstep
	$(Q)tests/run_meanings.sh $(B)/superstep

check-cache: $(B)/superstep ## compiled networks from the cache, damaged entries, full disks, killed processes
	$(Q)tests/run_cache.sh $(B)/superstep

check-sweep: $(B)/superstep $(if $(HAS_MPI),$(B)/superstep-mpi) ## sweeps: killed and continued, dead workers, under mpirun where there is Open MPI
	$(Q)tests/run_sweep.sh $^

# Of 48 networks so many for each verb, report and engine, and which; all of them: tests/long/matrix.sh.
MATRIX_PART ?= 1
MATRIX_SEED ?= 1

check-matrix: $(B)/superstep $(MATRIX) ## a drawn part of inputs x outputs x reports x engines x caches x verbs
	$(Q)$(MATRIX) $(B)/superstep $(MATRIX_PART) $(MATRIX_SEED)

PREFIX ?= /usr/local

install: $(B)/superstep $(SHARED) ## install program, libraries, headers, pages and completion below PREFIX (and DESTDIR)
	$(Q)DESTDIR="$(DESTDIR)" CC="$(CC)" models/cli/install.sh $(PREFIX) $(VERSION) $(ABI) $(B)/superstep $(LIB) $(SHARED)

uninstall: ## remove what install put below PREFIX
	$(Q)cd $(DESTDIR)$(PREFIX) && rm -rf include/superstep share/superstep share/doc/superstep && rm -f bin/superstep lib/libsuperstep.a lib/libsuperstep.so lib/libsuperstep.so.$(ABI) lib/libsuperstep.so.$(VERSION) lib/pkgconfig/superstep.pc share/man/man1/superstep.1 share/bash-completion/completions/superstep share/zsh/site-functions/_superstep

check-install: $(B)/superstep ## install into an empty folder, use it from C, C++ and Python, uninstall
	$(Q)CC="$(CC)" tests/installed.sh MODE=$(MODE) OPT="$(OPT)" CC="$(CC)"

check-alone: $(B)/superstep ## the program alone, in an empty root
	$(Q)tests/self_contained.sh $(B)/superstep

check-input: $(B)/superstep ## bad command lines, files and machines: one clear line, exit status 2
	$(Q)tests/run_bad_input.sh $(B)/superstep

set-lab-expect: $(B)/superstep ## write today's cycles and digests into tests/programs/lab.expect
	$(Q)tests/run_lab_programs.sh --set-expect $(B)/superstep tests/programs/lab.expect

check-long: check ## all of tests/long (tests/README.md): networks at full size, sanitizers, compilers, PopLibs sources
	$(Q)failed=; for t in $(filter-out %/common.sh,$(wildcard tests/long/*.sh)); do echo "== $$t"; $$t || failed="$$failed $$t"; done; \
	tests/self_contained.sh $(B)/superstep big || failed="$$failed self_contained.sh"; \
	[ -z "$$failed" ] || { echo "failed:$$failed"; exit 1; }

# What `make check` executes: built apart, run once, told by gcov.
COVERED := check-unit check-isa check-cases check-lab check-figures check-step check-outcomes check-cache check-sweep check-matrix check-input

coverage: ## lines and functions that `make check` executes, by folder, and functions that it does not (build/coverage.txt)
	$(Q)$(MAKE) --no-print-directory -k MODE=coverage $(COVERED) >build/coverage.log 2>&1 || echo "a check failed: build/coverage.log"
	$(Q)tests/coverage.sh build/obj/coverage build/coverage.txt

compile-commands: ## build/compile_commands.json, by which editors know how each file is compiled
	@mkdir -p build
	$(Q)git ls-files '*.c' | jq -nR --arg flags '$(CC) $(CPPFLAGS) $(CFLAGS)' --arg here '$(CURDIR)' '[inputs | {directory: $$here, file: ., command: "\($$flags) -c \(.)"}]' >build/compile_commands.json

validate: $(B)/superstep ## what silicon and the vendor's tools do, beside what is executed here (docs/validation.md)
	$(Q)$< validate $(VALIDATE)

bench-codelets: $(O)/bench/bench_codelets ## cycles and bytes of every codelet
	$(Q)$<

bench-schedules: $(O)/bench/bench_schedule ## events, bytes of code and host time of exchange patterns
	$(Q)$< table

bench: $(BENCH) $(B)/superstep ## speeds of the host, medians; AGAINST=COMMIT: beside those of a commit, in turns
	$(Q)AGAINST=$(AGAINST) tests/bench/bench.sh $(O) $(B)/superstep

# libFuzzer, one entry at a time; findings are left in build/fuzz.
fuzz: $(B)/superstep ## fuzz every reader of outside bytes, FUZZ_SECONDS each
	@mkdir -p build/fuzz/profile && rm -f build/fuzz/profile/sweep*.db # of another version they would be refused
	$(Q)$(B)/superstep run ring -m toy4 -q --profile build/fuzz/profile/ring.db >/dev/null
	$(Q)$(B)/superstep run pingpong -m toy4 -q --profile build/fuzz/profile/pingpong.db >/dev/null
	$(Q)$(B)/superstep sweep matmul -m toy16 -q --vary n=32,64 -o build/fuzz/profile/sweep.db >/dev/null
	$(Q)$(B)/superstep sweep pingpong -m toy4 -q --vary chips=1,2 -o build/fuzz/profile/sweep_chips.db >/dev/null
	$(Q)$(MAKE) --no-print-directory CC=clang MODE=fuzz OPT=-O1 fuzz-all

fuzz-all: $(patsubst %,run-%,$(FUZZERS))

run-fuzz_%: $(O)/fuzz/fuzz_%
	@mkdir -p build/fuzz/$* tests/fuzz/corpus/$*
	$(Q)$< -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -artifact_prefix=build/fuzz/ build/fuzz/$* tests/fuzz/corpus/$*

$(O)/fuzz/%: tests/fuzz/%.c $(FIXTURES) $(LIB)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fsanitize=fuzzer -o $@ $(LINKED) $(LDFLAGS) $(LDLIBS)

# Headers that assembly includes are no C.
C_FILES   = git ls-files '*.[ch]' ':!emu/asm/include' ':!programs/lab/overlap.h' ':!programs/lab/stream.h'

format: ## clang-format on all C files
	$(Q)clang-format -i -style=file $$($(C_FILES))

check-format: ## what `make format` would change is an error
	$(Q)clang-format --dry-run -Werror -style=file $$($(C_FILES))

clean: ## remove everything that was built
	rm -rf build

help: ## this list
	@awk -F': .*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' Makefile

FORCE:

.PHONY: all mpi FORCE check check-layers check-format check-headers check-fields check-docs check-unit check-isa check-cases check-lab check-figures check-step check-outcomes check-cache check-sweep check-matrix check-input check-alone check-install install uninstall set-lab-expect check-long coverage compile-commands validate bench bench-codelets bench-schedules fuzz fuzz-all format clean help
-include $(shell find $(O) -name '*.d' 2>/dev/null)
