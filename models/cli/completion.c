/* completion.c - `superstep completion`: the tables of commands, options and names as functions of
 * a shell, which then work without the program.
 *
 * Both shells complete the same things: after a command its options, after an option its words or a
 * file, and otherwise what the command may be given, and files.
 */
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/cli/options.h"
#include "models/cli/commands_models.h"
#include "models/net/net.h"
#include "programs/cli/cmd_lab.h"

const struct command *const command_tables[] = { front_commands, emu_commands, model_commands,
                                                 NULL };

typedef enum emu_status print_command(const struct command *c, FILE *f);

static enum emu_status each_command(print_command *print, FILE *f)
{
    for (const struct command *const *t = command_tables; *t; t++) {
        for (const struct command *c = *t; c->name; c++)
            TRY(print(c, f));
    }
    return EMU_OK;
}

/* ---- what both shells know ---- */

static int takes(const struct command *c, const struct option_row *o)
{
    return option_is_of(o->uses, c->uses);
}

/* An option may have several rows, for different things: this one is the first of the command. */
static int is_first(const struct command *c, const struct option_row *o)
{
    for (const struct option_row *before = option_rows(); before < o; before++) {
        if (takes(c, before) && !strcmp(before->name, o->name))
            return 0;
    }
    return takes(c, o);
}

/* Each option that a command takes, once. */
typedef void print_option(const struct command *c, const struct option_row *o, FILE *f);

static void each_option(const struct command *c, print_option *print, FILE *f)
{
    for (const struct option_row *o = option_rows(); o->name; o++) {
        if (is_first(c, o))
            print(c, o, f);
    }
}

static int has_files(const struct option_row *o)
{
    return o->kind == KIND_TEXT && (strstr(o->arg, "FILE") || strstr(o->arg, "DIR"));
}

/* "cycles|memory" with spaces. */
static void print_words(const char *arg, FILE *f)
{
    for (; *arg; arg++)
        fputc(*arg == '|' ? ' ' : *arg, f);
}

static enum emu_status print_names(const struct command *c, FILE *f)
{
    if (c->words)
        fprintf(f, " %s", c->words);
    for (unsigned i = 0; c->names & NAMES_NETWORKS && net_name(i); i++)
        fprintf(f, " %s", net_name(i));
    for (size_t i = 0; c->names & NAMES_MACHINES && i < ss_arch_preset_count(); i++)
        fprintf(f, " %s", ss_arch_preset_name(i));
    return c->names & NAMES_PROGRAMS ? lab_print_names(f) : EMU_OK;
}

static void print_machines(FILE *f)
{
    for (size_t i = 0; i < ss_arch_preset_count(); i++)
        fprintf(f, "%s%s", i ? " " : "", ss_arch_preset_name(i));
}

/* ---- bash ---- */

static enum emu_status bash_name(const struct command *c, FILE *f)
{
    fprintf(f, " %s", c->name);
    return EMU_OK;
}

static void bash_option(const struct command *c, const struct option_row *o, FILE *f)
{
    (void)c;
    fprintf(f, " --%s%s", o->name, o->arg && o->arg[0] != '[' ? "=" : "");
}

static enum emu_status bash_case(const struct command *c, FILE *f)
{
    fprintf(f, "    %s)\n        options='--help", c->name);
    each_option(c, bash_option, f);
    fputs("'\n        names='", f);
    TRY(print_names(c, f));
    fputs("' ;;\n", f);
    return EMU_OK;
}

/* What stands behind an option: its words, where the shell cannot guess them; nothing where its
 * values are no files. */
static void bash_value(const struct command *c, const struct option_row *o, FILE *f)
{
    int machines = !strcmp(o->name, "machine"), words = o->kind == KIND_WORD || machines;

    if (!words && (!o->arg || o->arg[0] == '[' || has_files(o) || o->kind == KIND_LIST))
        return;
    fprintf(f, "    '%s --%s'", c->name, o->name);
    if (o->letter)
        fprintf(f, " | '%s -%c'", c->name, o->letter);
    fputs(words ? ") words='" : ") return", f);
    if (machines)
        print_machines(f);
    else if (words)
        print_words(o->arg, f);
    fputs(words ? "' ;;\n" : " ;;\n", f);
}

static enum emu_status bash_values(const struct command *c, FILE *f)
{
    each_option(c, bash_value, f);
    return EMU_OK;
}

static enum emu_status print_bash(FILE *f)
{
    fputs("# bash completion of superstep; made by `superstep completion bash`\n"
          "_superstep()\n{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
          "    local command=${COMP_WORDS[1]} options= names= words=\n"
          "    COMPREPLY=()\n"
          "    if ((COMP_CWORD == 1)); then\n"
          "        COMPREPLY=($(compgen -W '--help --version help",
          f);
    TRY(each_command(bash_name, f));
    fputs("' -- \"$cur\"))\n        return\n    fi\n"
          "    # bash cuts --name=value into three words\n"
          "    [[ $cur == = ]] && cur=\n"
          "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
          "    case $command in\n    help) options= names='",
          f);
    TRY(each_command(bash_name, f));
    fputs("' ;;\n", f);
    TRY(each_command(bash_case, f));
    fputs("    esac\n    case \"$command $before\" in\n", f);
    TRY(each_command(bash_values, f));
    fputs("    esac\n"
          "    if [[ $words ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "        [[ $before != -m && $before != --machine ]] && return\n"
          "    elif [[ $cur == -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
          "        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
          "        return\n"
          "    elif [[ $before != -* ]]; then\n"
          "        COMPREPLY=($(compgen -W \"$names\" -- \"$cur\"))\n"
          "    fi\n"
          "    local IFS=$'\\n'\n"
          "    compopt -o filenames\n"
          "    COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
          "}\n"
          "complete -F _superstep superstep\n",
          f);
    return EMU_OK;
}

/* ---- zsh ---- */

/* Within single quotes and a field of _arguments. */
static void print_quoted(const char *text, FILE *f)
{
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            fputc('\\', f);
        if (*text == '\'')
            fputs("'\\''", f);
        else
            fputc(*text, f);
    }
}

static enum emu_status zsh_name(const struct command *c, FILE *f)
{
    fprintf(f, "    '%s:", c->name);
    print_quoted(c->help, f);
    fputs("'\n", f);
    return EMU_OK;
}

/* ":message:action" of what stands behind an option. */
static void zsh_value(const struct option_row *o, FILE *f)
{
    fputc(':', f);
    print_quoted(o->arg, f);
    fputc(':', f);
    if (!strcmp(o->name, "machine")) {
        fputs("_alternative \"names:machine:(", f);
        print_machines(f);
        fputs(")\" \"files:file:_files\"", f);
    } else if (o->kind == KIND_WORD) {
        fputc('(', f);
        print_words(o->arg, f);
        fputc(')', f);
    } else if (has_files(o) || o->kind == KIND_LIST) {
        fputs("_files", f);
    }
}

static void zsh_option(const struct command *c, const struct option_row *o, FILE *f)
{
    const char *equals = o->arg && o->arg[0] != '[' ? "=" : "";

    (void)c;
    fputs("        ", f);
    if (o->kind == KIND_LIST)
        fputs("'*'", f);
    else if (o->letter)
        fprintf(f, "'(-%c --%s)'", o->letter, o->name);
    if (o->letter)
        fprintf(f, "{-%c,--%s%s}", o->letter, o->name, equals);
    else
        fprintf(f, "--%s%s", o->name, equals);
    fputs("'[", f);
    print_quoted(o->help, f);
    fputc(']', f);
    if (*equals)
        zsh_value(o, f);
    fputs("' \\\n", f);
}

static enum emu_status zsh_case(const struct command *c, FILE *f)
{
    fprintf(f, "    %s)\n        names=(", c->name);
    TRY(print_names(c, f));
    fputs(" )\n        _arguments -s \\\n", f);
    each_option(c, zsh_option, f);
    fputs("        '--help[what it takes]' '*:argument:_superstep_argument' ;;\n", f);
    return EMU_OK;
}

static enum emu_status print_zsh(FILE *f)
{
    fputs("#compdef superstep\n# zsh completion of superstep; made by `superstep completion zsh`\n"
          "_superstep_argument()\n{\n"
          "    _alternative \"names:name:($names)\" 'files:file:_files'\n}\n\n"
          "_superstep()\n{\n    local -a commands names\n    local command=$words[2]\n    "
          "commands=(\n"
          "    'help:explain a command'\n",
          f);
    TRY(each_command(zsh_name, f));
    fputs("    )\n"
          "    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    "
          "fi\n"
          "    if [[ $command == help ]]; then\n        ((CURRENT == 3)) && _describe command "
          "commands\n"
          "        return\n    fi\n"
          "    shift words\n    ((CURRENT--))\n"
          "    case $command in\n",
          f);
    TRY(each_command(zsh_case, f));
    fputs("    esac\n}\n\n_superstep \"$@\"\n", f);
    return EMU_OK;
}

int cmd_completion(const struct request *q)
{
    enum emu_status s;

    if (!strcmp(q->what, "bash"))
        s = print_bash(stdout);
    else if (!strcmp(q->what, "zsh"))
        s = print_zsh(stdout);
    else
        s = FAIL(USAGE, "'%s': completion is there for bash and zsh", q->what);
    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
