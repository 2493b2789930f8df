#!/bin/sh
# Fails when more objects than allowed are compiled with the rows of a table, as the .d files of a build say: a header that has all rows
# in it has come into one that many include. Of sources that are gone nothing is counted. Usage: check_reach.sh build/obj/release
cd "$(dirname "$0")/.." || exit 2
bad=0
while read -r most table; do
    count=$(find "$1/emu" "$1/programs" "$1/models" -name '*.d' -exec grep -lF " $table" {} + | sed "s|^$1/||; s|\.d\$|.c|" | xargs -r ls -d 2>/dev/null | wc -l)
    if [ "$count" -gt "$most" ]; then
        echo "$table: $count objects are compiled with it, at most $most should be"
        bad=1
    fi
done <<END
60 emu/isa/insn.def
60 emu/isa/csr.def
72 emu/arch/arch_fields.def
2 emu/cli/options_emu.def
2 programs/cli/options_programs.def
2 models/ask/options_models.def
END
exit $bad
