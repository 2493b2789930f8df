# declared_names.awk - the functions and variables that the headers below `root` declare, one a line.
#   cc -E FILE.h | awk -v root=DIR -f declared_names.awk
# Bodies of structures, of enumerations and of inline functions are left out, types are not listed.
/^#/ { if ($2 ~ /^[0-9]+$/) ours = index($3, "\"" root "/") == 1; next }
ours { text = text " " $0 }

function declaration(s,   name) {
    gsub(/__attribute__ *\(\([^;]*\)\)/, "", s)
    if (s ~ /^ *(typedef|static)/) return
    if (s ~ /\(/) sub(/ *\(.*/, "", s)
    else if (s ~ /^ *extern /) gsub(/\[[^]]*\]/, "", s)
    else return
    if (match(s, /[A-Za-z_][A-Za-z_0-9]* *$/)) {
        name = substr(s, RSTART, RLENGTH)
        sub(/ *$/, "", name)
        print name
    }
}

END {
    for (i = 1; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "{") depth++
        else if (c == "}" && --depth == 0 && statement ~ /\(/) statement = ""
        else if (depth == 0 && c == ";") { declaration(statement); statement = "" }
        else if (depth == 0 && c != "}") statement = statement c
    }
}
