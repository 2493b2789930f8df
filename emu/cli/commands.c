/* commands.c - the table of the machine's commands; `run` and `compile`, which take more, are in
 * models/cli/front.c. */
#include "emu/cli/commands.h"

#include <stddef.h>
#include <string.h>

#include "emu/cli/emu_commands.h"

enum { ANY = 1 << 30 };

const struct command emu_commands[] = {
    { .name = "diff",
      .help = "name the first superstep and tile in which two runs differ",
      .uses = USE_DIFF,
      .run = cmd_diff,
      .examples = "  superstep run ring --digests a\n"
                  "  superstep run ring --plain --digests b\n"
                  "  superstep diff a b\n",
      .noun = "two files",
      .min = 2,
      .max = 2,
      .args = "A B",
      .doc = "Name the first superstep and tile in which two runs differ, from the files that `run "
             "--digests` wrote.\v"
             "Exit status: 0 equal, 1 different, 2 bad usage or bad file." },
    { .name = "report",
      .help = "print the profile of a run",
      .uses = USE_REPORT,
      .run = cmd_report,
      .examples = "  superstep run ring --profile ring.db\n"
                  "  superstep report ring.db --html ring.html\n"
                  "  superstep report ring.db --csv steps\n",
      .noun = "one profile",
      .min = 1,
      .max = 1,
      .args = "FILE.db",
      .doc = "Print a profile that `run --profile` wrote: what ran, where its cycles went, the "
             "slowest layers and supersteps, what the memory is for.\v"
             "The file is a SQLite database; docs/profile.md has its tables and useful queries." },
    { .name = "compare",
      .help = "say what differs between the profiles of two runs",
      .uses = USE_COMPARE,
      .run = cmd_compare,
      .examples = "  superstep run ring --profile a.db\n"
                  "  superstep run ring -D WORDS=16 --profile b.db\n"
                  "  superstep compare a.db b.db\n",
      .noun = "two profiles",
      .min = 2,
      .max = 2,
      .args = "A.db B.db",
      .doc = "Say what differs between two runs, from the profiles that `run --profile` wrote: "
             "options, fields of the machine, cycles and bytes, layer by layer, the largest "
             "differences first. Differences are B less A." },
    { .name = "asm",
      .help = "assemble and link tile assembly",
      .uses = USE_ASM,
      .run = cmd_asm,
      .examples = "  superstep lab exercise 1 -o send.S\n"
                  "  superstep asm code.S\n"
                  "  superstep asm -c code.S -o code.o\n",
      .noun = "one file",
      .min = 1,
      .max = ANY,
      .args = "FILE...",
      .doc = "Assemble and link tile assembly as one unit. Files are sources, ELF objects of this "
             "target, and archives of objects.\v"
             "The listing shows address, words, text and source line of every instruction, then "
             "the symbols. `dis` reads what -o writes, linked or not." },
    { .name = "dis",
      .help = "disassemble what asm wrote, objects, and tiles of images",
      .uses = USE_DIS,
      .run = cmd_dis,
      .examples = "  superstep dis code.o\n"
                  "  superstep dis net.img --tile 0\n",
      .noun = "one unit",
      .min = 1,
      .max = 1,
      .args = "UNIT",
      .doc =
          "Print a unit written by `asm -o` as assembly, or an ELF object or an archive as it is: "
          "words, relocations, symbols; or of an image the code of one tile and what its memory is "
          "for "
          "(--tile).\v"
          "`asm --raw` turns the assembly of a unit into the same words again." },
    { .name = "tile",
      .help = "run one codelet on one tile, from a case file or a source",
      .uses = USE_TILE,
      .run = cmd_tile,
      .examples = "  superstep tile code.S\n"
                  "  superstep tile --trace i code.S\n",
      .noun = "one case",
      .max = 1,
      .args = "FILE.json|FILE.S",
      .doc =
          "Run one codelet on one tile and print the registers and memory that changed, and "
          "cycles. A "
          "source is entered at its first label, as a worker or, behind .supervisor, as the "
          "supervisor.\v"
          "Exit status: 0 pass, 1 fail, fault, timeout or reports of --check, 2 bad usage or bad "
          "file." },
    { .name = "machines",
      .help = "list the built-in machines, or print one",
      .uses = USE_MACHINES,
      .run = cmd_machines,
      .examples = "  superstep machines\n"
                  "  superstep machines mk2 --set tiles=736\n"
                  "  superstep machines mk2 --json > mine.json\n",
      .names = NAMES_MACHINES,
      .noun = "one machine",
      .max = 1,
      .args = "[NAME|FILE]",
      .doc =
          "List the built-in machines, or print every field of one with value, unit, certainty "
          "and source.\vA machine file is a JSON object: {\"base\": \"mk2\", \"name\": \"half\", "
          "\"tiles\": 736}. Write one with --json, edit it, and pass it wherever a machine is "
          "expected." },
    { .name = NULL },
};

const struct command *command_find(const struct command *table, const char *name)
{
    for (const struct command *c = table; c->name; c++) {
        if (!strcmp(c->name, name))
            return c;
    }
    return NULL;
}
