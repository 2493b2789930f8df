#!/bin/sh
# Fails when the specification in docs/ and the tables of emu/ part: a mnemonic, CSR, fault or exchange fault that no page mentions,
# a number that differs, an encoding written differently, a link, file or section that does not exist.
cd "$(dirname "$0")/.." || exit 2
awk '
    function fail(what) { print what; bad++ }

    # Bits of a hexadecimal number, as wide as asked.
    function bits(hex, width,   i, v, s) {
        v = 0
        for (i = 1; i <= length(hex); i++) v = v * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1
        for (i = 0; i < width; i++) { s = (v % 2) s; v = int(v / 2) }
        return s
    }

    # A pattern of docs/encoding.md with the number of one form in place of its letters f.
    function pattern_of(p, hex,   at, n) {
        gsub(/ /, "", p)
        n = gsub(/f/, "f", p)
        if (length(hex) != int((n + 3) / 4)) return "?"
        hex = bits(hex, n)
        for (at = 1; at <= n; at++) sub(/f/, substr(hex, at, 1), p)
        return p
    }

    function documented(id, hex) {
        if (id in doc_code) fail("docs/encoding.md: " id " stands there twice")
        doc_code[id] = pattern_of(layout, hex)
    }

    # --- the tables ---
    FILENAME ~ /insn\.def$/ && /^(INSN|LANES|ALIAS)\(/ {
        n = split($0, q, "\"")
        id = q[1]; sub(/^LANES\([a-z0-9_]+, */, "", id); sub(/^[A-Z]+\(/, "", id); sub(/[ ,].*/, "", id)
        mnemonic[q[2]] = 1
        if (!/^ALIAS/) {
            code[id] = q[6]; gsub(/ /, "", code[id])
            newer[id] = q[5] ~ /IPU21/ ? 21 : q[5] ~ /IPU2/ ? 2 : 1
        }
        next
    }
    FILENAME ~ /csr\.def$/ && /^CSR\(/ {
        split($0, q, /[(,] */)
        csr[q[2] " " q[3]] = q[4]
        next
    }
    FILENAME ~ /exchange_fault\.def$/ && /^EXCHANGE_FAULT\(/ { split($0, q, /[(,] */); exchange_fault[q[2]] = 1; next }
    FILENAME ~ /fault\.def$/ && /^FAULT\(/ { split($0, q, /[(,] */); fault[q[2]] = q[3]; next }
    FILENAME ~ /tile_check\.def$/ && /^CHECK\(/ { split($0, q, /[(,] */); check[q[2]] = 1; next }

    # --- the pages ---
    FILENAME ~ /encoding\.md$/ && (NF == 8 || NF == 16) && length($0) == 5 * NF - 1 && /^[01a-zCHLM ]+$/ { layout = $0; next }
    FILENAME ~ /encoding\.md$/ && /^    [a-z]/ {
        if (layout ~ /f/) for (k = 1; k < NF; k += 2) documented($k, $(k + 1))
        else for (k = 1; k <= NF; k++) documented($k, "")
        next
    }
    FILENAME ~ /encoding\.md$/ && /^ipu21? added/ {
        version = /^ipu21/ ? 21 : 2
        gsub(/[^a-z0-9_]+/, " ")
        n = split($0, q, " ")
        for (k = 1; k <= n; k++) added[q[k]] = version
        next
    }
    FILENAME ~ /machine\.md$/ && /^## .*space/ { space = /[Uu]pper/ ? "U" : /[Ss]upervisor/ ? "S" : "W" }
    FILENAME ~ /machine\.md$/ && /^\| 0x[0-9a-f]+ \| \$/ {
        name = $4; sub(/^\$/, "", name)
        doc_csr[name " " space] = $2
    }
    FILENAME ~ /machine\.md$/ && /^\| [0-9]+ \| [A-Z0-9_]+ \|/ { doc_fault[$4] = $2 }
    FILENAME ~ /\.md$/ {
        line = $0
        gsub(/[^A-Za-z0-9_]+/, " ", line)
        n = split(line, words, " ")
        for (k = 1; k <= n; k++) said[words[k]] = 1
    }

    END {
        for (m in mnemonic) if (!(m in said)) fail("mnemonic " m ": no page says what it means")
        for (id in code) {
            if (!(id in doc_code)) fail("docs/encoding.md: " id " is missing")
            else if (doc_code[id] != code[id]) fail("docs/encoding.md: " id " is " doc_code[id] ", insn.def has " code[id])
            else if (newer[id] != (id in added ? added[id] : 1)) fail("docs/encoding.md 4: " id " differs in its instruction set")
        }
        for (id in doc_code) if (!(id in code)) fail("docs/encoding.md: no form " id)
        for (c in csr) {
            n = c; sub(/ .*/, "", n)
            if (!(c in doc_csr)) fail("docs/machine.md: CSR " c " is missing")
            else if (bits(substr(doc_csr[c], 3), 12) != bits(substr(csr[c], 3), 12) &&
                     bits(substr(doc_csr[c], 3), 12) != bits("1" substr(csr[c], 3), 12))
                fail("docs/machine.md: CSR " c " is " doc_csr[c] ", csr.def has " csr[c])
        }
        for (c in doc_csr) if (!(c in csr)) fail("docs/machine.md: no CSR " c)
        for (f in fault) if (doc_fault[f] != fault[f]) fail("docs/machine.md: fault " f " has number " fault[f])
        for (f in exchange_fault) if (!(f in said)) fail("docs/exchange.md: exchange fault " f " is missing")
        for (f in check) if (!(f in said)) fail("docs/machine.md: report " f " of the checking mode is missing")
        n = 0; for (m in mnemonic) n++
        k = 0; for (id in code) k++
        j = 0; for (c in csr) j++
        print n " mnemonics, " k " encodings, " j " CSRs, docs " (bad ? "differ" : "agree")
        exit bad != 0
    }' emu/isa/insn.def emu/isa/csr.def emu/exchange/exchange_fault.def emu/tile/fault.def emu/tile/tile_check.def \
    docs/encoding.md docs/machine.md docs/isa.md docs/arithmetic.md docs/matrix.md docs/exchange.md || exit 1

# Links between pages, files that pages name as `emu/...`, sections that pages and sources name as "page.md 3", and the functions and
# files that pages and comments name (check_names.sh).
pages=$(git ls-files -co --exclude-standard -- '*.md')
sources=$(git ls-files -co --exclude-standard -- '*.[chS]' '*.inc' '*.def' '*.isa')
{
    grep -snoE '\]\([^)#]+' $pages | grep -v '://' | sed 's/\](//' | while IFS=: read -r file line link; do
        [ -e "$(dirname "$file")/$link" ] || echo "$file:$line: no page $link"
    done
    grep -snoE '`(emu|tests|programs|models|docs)/[^` ]*`' $pages | tr -d '`' | while IFS=: read -r file line name; do
        ls -d $name >/dev/null 2>&1 || echo "$file:$line: no file $name"
    done
    grep -snoE '[a-z_]+\.md\)? [0-9]+(\.[0-9]+)?' $pages $sources | sed 's/)//' | while IFS=: read -r file line section; do
        for page in docs/${section%% *} docs/programs/${section%% *}; do
            [ ! -e "$page" ] || grep -qE "^##+ ${section#* }\\.? " "$page" || echo "$file:$line: no section $section"
        done
    done
    # Commands that the manual page leaves out.
    grep -hoE '^ *\{? *\.name = "[a-z]+"' emu/cli/commands.c programs/cli/*.c models/cli/*.c | grep -oE '"[a-z]+"' | tr -d '"' | sort -u | while read -r name; do
        grep -qE "^\.B[IR]? \"?$name\b" docs/man/superstep.1 || echo "docs/man/superstep.1: no command $name"
    done
    tests/check_names.sh
} | {
    dead=$(cat)
    [ -z "$dead" ] || { printf '%s\n' "$dead"; exit 1; }
}
