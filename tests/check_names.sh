#!/bin/sh
# Prints the functions and files that pages and comments of sources name although there are none.
# Files of other projects that are cited stand in `foreign`.
cd "$(dirname "$0")/.." || exit 2
all=$(git ls-files -co --exclude-standard)
{
    printf '%s\n' "$all" | sed 's|.*/||; s|^|file |'
    # What a source defines or calls counts as known: functions of libc and libraries too.
    printf '%s\n' "$all" | grep -E '\.([chS]|inc|def|py)$' | xargs sed -e 's|//.*||' -e 's|/\*.*\*/||' -e '/^ *\/\*/,/\*\//d' -e '/^ \* /d' |
        grep -oE '[A-Za-z_][A-Za-z0-9_]* *\(' | tr -d ' (' | sort -u | sed 's/^/function /'
    printf '%s\n' "$all" | grep -E '\.md$|\.([chS]|inc|def|isa)$|Makefile|\.sh$' | xargs awk '
        FNR == 1 { comment = FILENAME ~ /\.md$/; page = comment; script = FILENAME ~ /(\.sh|Makefile|\.isa)$/; fence = 0 }
        {
            text = $0
            if (page) { if (/^```/) fence = !fence; if (fence || /^    /) next }
            else if (script) { if (!sub(/^[^#]*# /, "", text)) next }
            else {
                inside = comment
                if (!inside && !match(text, /\/\*|\/\/ /)) next
                if (!inside) { text = substr(text, RSTART); if (text !~ /^\/\//) inside = 1 }
                comment = inside && text !~ /\*\//
                sub(/\*\/.*/, "", text)
            }
            rest = text
            while (match(rest, /[A-Za-z_][A-Za-z0-9_]*\(\)/)) {
                if (substr(rest, RSTART - 1, 1) !~ /[.:>-]/)
                    print "names", FILENAME ":" FNR, "function", substr(rest, RSTART, RLENGTH - 2)
                rest = substr(rest, RSTART + RLENGTH)
            }
            rest = text
            while (match(rest, /[A-Za-z0-9_*{},.-]*[A-Za-z0-9_]\.(c|h|S|inc|def|sh|isa)[^A-Za-z0-9_(]/) || match(rest, /[A-Za-z0-9_*{},.-]*[A-Za-z0-9_]\.(c|h|S|inc|def|sh|isa)$/)) {
                print "names", FILENAME ":" FNR, "file", substr(rest, RSTART, RLENGTH)
                rest = substr(rest, RSTART + RLENGTH)
            }
        }'
} | awk -v foreign="TruncatedNormal.S Resample.c xxhash.h" '
    BEGIN { n = split(foreign, f, " "); while (n) file[f[n--]] = 1 }
    $1 == "file" { file[$2] = 1; next }
    $1 == "function" { name[$2] = 1; next }
    $3 == "function" { if (!($4 in name)) print $2 ": no function " $4 "()"; next }
    { sub(/[^A-Za-z0-9_]$/, "", $4); if ($4 !~ /[*{},]|^(FILE|NAME|[A-Z]+|[a-z]|file|name|my.*)?\./ && !($4 in file)) print $2 ": no file " $4 }'
