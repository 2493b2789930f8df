#!/bin/sh
# Fails when a file includes across the layers of tests/layers.txt, or when a word of a higher floor leaks into a lower one.
cd "$(dirname "$0")/.." || exit 2
# What the assembler includes (programs/library/*/*.inc) is no part of a C file.
git ls-files -co --exclude-standard -- '*.c' '*.h' '*.def' '*/cli/*.inc' | awk -v rules=tests/layers.txt '
    BEGIN {
        while ((getline line < rules) > 0) {
            n = split(line, f, " ")
            if (n < 2 || line ~ /^#/) continue
            allowed[f[1]] = f[1]
            for (i = 2; i <= n; i++) allowed[f[1]] = allowed[f[1]] " " f[i]
        }
    }
    function rule(path,   p) {
        p = path
        while (sub(/\/[^\/]*$/, "", p)) if (p in allowed) return p
        return ""
    }
    {
        file = $0; own = rule(file); count++
        if (own == "") { print file ": no rule in tests/layers.txt"; bad = 1; next }
        while ((getline line < file) > 0) {
            if (line !~ /^#include "/) continue
            split(line, q, "\""); inc = q[2]; ok = 0
            n = split(allowed[own], f, " ")
            for (i = 1; i <= n; i++) if (f[i] != "-" && (inc == f[i] || index(inc, f[i] "/") == 1)) ok = 1
            if (!ok) { print file ": must not include " inc; bad = 1 }
        }
        close(file)
    }
    END { print count " files, layers " (bad ? "broken" : "kept"); exit bad }' || exit 1
# A tag stands for one thing.
twice=$(git ls-files -co --exclude-standard -- 'emu/*.[ch]' 'programs/*.[ch]' 'models/*.[ch]' | xargs grep -hoE '^(static |const )*(struct|enum|union) [a-z_0-9]+ \{' |
    sed -E 's/.*(struct|enum|union) ([a-z_0-9]+) \{/\2/' | sort | uniq -d)
if [ -n "$twice" ]; then
    echo "tags that are defined twice:" $twice
    exit 1
fi
# The machine knows nothing about networks.
if git ls-files -co --exclude-standard -- 'emu/*.c' 'emu/*.h' 'emu/*.def' 'emu/*.inc' |
    xargs grep -niwE 'tensors?|graphs?|neural' /dev/null; then
    echo "words of a higher floor in emu/"
    exit 1
fi
# Nor do its options, its commands and its other tables. A layer is something a profile has, and the stepper goes to one; a compiled
# program has neither networks nor training.
if git ls-files -co --exclude-standard -- 'emu/*.def' 'emu/*.inc' 'emu/cli/*.[ch]' 'programs/cli/*.def' |
    xargs grep -niE '\b(networks?|epochs?|loss|onnx)(\b|_)' /dev/null ||
    git ls-files -co --exclude-standard -- 'emu/cli/*.def' 'emu/cli/*.inc' 'emu/cli/options*.[ch]' emu/cli/request.h 'programs/cli/*.def' |
    xargs grep -niE '\blayers?(\b|_)' /dev/null; then
    echo "words of a higher floor in tables"
    exit 1
fi
# Numbers of a chip stand in emu/arch only.
if git ls-files -co --exclude-standard -- 'emu/*.[ch]' 'programs/*.[ch]' 'models/*.[ch]' 'emu/*.def' 'programs/*.def' 'models/*.def' '*.inc' |
    grep -v '^emu/arch/' | xargs grep -nE '\b(1472|638976|0x4c000|212992)\b' /dev/null | grep -vE '^[^:]*:[0-9]+: *(/?\*|//)'; then
    echo "numbers of a chip outside emu/arch/"
    exit 1
fi
# The compiler knows no kernel, not even by name.
names=$(sed -n 's/^ *KERNEL(\([a-z0-9_]*\),.*/\1/p' programs/library/*/*.def)
if [ -z "$names" ]; then
    echo "no kernels in programs/library/*/*.def"
    exit 1
fi
if git ls-files -co --exclude-standard -- 'programs/compiler/*.[ch]' 'programs/compiler/*.def' 'programs/compiler/*.inc' | xargs grep -nwF "$names" /dev/null; then
    echo "names of kernels in programs/compiler/"
    exit 1
fi
exit 0
