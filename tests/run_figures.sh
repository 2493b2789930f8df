#!/bin/bash
# run_figures.sh [--write] SUPERSTEP [FILE]: what the pages say of runs is what comes out. FILE (tests/figures.txt) has commands, each
# with texts that a page must have, in which {EXPRESSION} stands for a figure: a jq expression on the command's answer as JSON.
# --write puts the figures that came out into the pages.
#
#   $ COMMAND   of superstep; --json and --quiet are added
#   ! COMMAND   of the shell, which prints JSON; $program is superstep, $tmp a folder
#   @ PAGE      the page that the texts below stand in
#   TEXT        {.cycles} is written 491,775; {.percent:1} with one place behind the point. A line end is a space.
#   # ...       a remark
write=
[ "$1" = --write ] && write=1 && shift
program=$1 table=${2:-tests/figures.txt}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
export OMP_WAIT_POLICY=passive
figures=0 failed=0 commands=0

fail() {
    failed=$((failed + 1))
    echo "FAILED: $*"
}

# figure EXPRESSION[:PLACES]: as the pages write it
figure() {
    local places=0 expression=$1
    [[ $expression =~ ^(.*):([0-9])$ ]] && expression=${BASH_REMATCH[1]} places=${BASH_REMATCH[2]}
    jq -r "$expression" "$tmp/answer" | awk -v places="$places" '
        /^-?[0-9.]+(e[-+]?[0-9]+)?$/ {
            text = sprintf("%." places "f", $1)
            split(text, part, ".")
            while (part[1] ~ /[0-9][0-9][0-9][0-9]/)
                part[1] = comma(part[1])
            print part[1] (places ? "." part[2] : "")
            next
        }
        { print }
        function comma(n,    at) {
            at = match(n, /,/) ? RSTART - 1 : length(n)
            return substr(n, 1, at - 3) "," substr(n, at - 2)
        }'
}

# text LINE: fills in the figures. $want is what must be there; $like, for Perl, what would be there with other figures.
text() {
    local rest=$1 value
    want='' like=''
    while [[ $rest =~ ^([^{]*)\{([^}]*)\}(.*)$ ]]; do
        local before=${BASH_REMATCH[1]} expression=${BASH_REMATCH[2]}
        rest=${BASH_REMATCH[3]}
        value=$(figure "$expression")
        want+=$before$value
        like+="\\Q$before\\E(?:[-+]?[0-9][0-9,]*(?:\\.[0-9]+)?)"
        figures=$((figures + 1))
    done
    want+=$rest
    like+="\\Q$rest\\E"
}

# Spaces of a text stand for any white space of the page.
found() { WANT=$want perl -0e 'my $w = quotemeta $ENV{WANT}; $w =~ s/\\ /\\s+/g; exit(<STDIN> !~ /$w/)' <"$page"; }

replace() {
    LIKE=$like WANT=$want perl -0pi -e '
        BEGIN { $like = $ENV{LIKE}; $like =~ s/\\Q(.*?)\\E/quotemeta $1/ge; $like =~ s/\\ /\\s+/g; $want = $ENV{WANT} }
        $places = () = /$like/g; # where several places look like it, none is touched
        s/$like/my @gaps = $& =~ m{\s+}g; my $new = $want; $new =~ s{ }{shift @gaps}ge; $new/e if $places == 1' "$page"
}

near() { # the line of the page that is most like what was expected
    LIKE=$like perl -0ne 'BEGIN { $like = $ENV{LIKE}; $like =~ s/\\Q(.*?)\\E/quotemeta $1/ge; $like =~ s/\\ /\\s+/g }
        print /$like/ ? "  it has      $&\n" : "  it has nothing like that\n"' "$page"
}

while IFS= read -r line; do
    case $line in
    '' | '#'*) ;;
    '$ '*)
        commands=$((commands + 1))
        command=${line#'$ '}
        # shellcheck disable=SC2086 # words of a command
        eval "\"$program\" ${command} --json --quiet" >"$tmp/answer" 2>"$tmp/error" </dev/null
        jq -e . "$tmp/answer" >/dev/null 2>&1 || fail "$command: no answer: $(head -n 2 "$tmp/error")"
        ;;
    '! '*)
        commands=$((commands + 1))
        command=${line#'! '}
        (eval "$command") >"$tmp/answer" 2>"$tmp/error" </dev/null
        jq -e . "$tmp/answer" >/dev/null 2>&1 || fail "$command: no answer: $(head -n 2 "$tmp/error")"
        ;;
    '@ '*) page=${line#'@ '} ;;
    *)
        text "$line"
        if ! found && [ -n "$write" ]; then replace; fi
        found || { fail "$page does not have what '$command' gives:"; echo "  expected    $want"; near; }
        ;;
    esac
done <"$table"
echo "$figures figures of $commands commands in the pages, $failed that differ"
[ "$failed" -eq 0 ] && [ "$figures" -gt 0 ]
