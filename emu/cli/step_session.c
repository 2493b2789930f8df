/* step_session.c - where the lines come from: libedit at a terminal, else a stream, whose lines are
 * shown before their answers. */
#include "emu/cli/step_session.h"

#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/cli/commands.h"
#include "emu/step/step_shell.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, script)
OPTION_READ(NUMBER, history)

enum { HISTORY_MIB = 512, LINES_KEPT = 500 };

int request_steps(const struct request *q)
{
    return (q->command->uses & USE_STEP) != 0;
}

/* ---- an interrupt stops the run, not the session ---- */

static volatile sig_atomic_t was_interrupted;

static void note_interrupt(int signal_number)
{
    (void)signal_number;
    was_interrupted = 1;
}

static int take_interrupt(void)
{
    int was = was_interrupted;

    was_interrupted = 0;
    return was;
}

static void catch_interrupts(void)
{
    struct sigaction a = { .sa_handler = note_interrupt, .sa_flags = SA_RESTART };

    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
}

/* ---- lines of a stream ---- */

static enum emu_status read_stream(const struct request *q, struct step_shell *shell, FILE *f)
{
    enum emu_status s = EMU_OK;
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int quits = 0;

    while (s == EMU_OK && !quits && (n = getline(&line, &room, f)) >= 0) {
        if (n && line[n - 1] == '\n')
            line[n - 1] = 0;
        if (!option_json(q))
            printf("> %s\n", line);
        s = step_shell_do(shell, line, &quits);
    }
    free(line); /* allocated by getline() */
    return s;
}

static enum emu_status read_script(const struct request *q, struct step_shell *shell)
{
    FILE *f = fopen(option_script(q), "r");
    enum emu_status s;

    if (!f)
        return FAIL(IO, "%s: %s", option_script(q), strerror(errno));
    s = read_stream(q, shell, f);
    if (s == EMU_OK && ferror(f))
        s = FAIL(IO, "%s: %s", option_script(q), strerror(EIO));
    fclose(f);
    return s;
}

/* ---- lines of a terminal ---- */

static char *prompt(EditLine *el)
{
    static char text[] = "step> ";

    (void)el;
    return text;
}

static enum emu_status edit_lines(EditLine *el, History *past, struct step_shell *shell)
{
    enum emu_status s = EMU_OK;
    const char *line;
    HistEvent event;
    int n, quits = 0;

    while (s == EMU_OK && !quits) {
        line = el_gets(el, &n);
        if ((!line || n <= 0) && take_interrupt()) { /* at the prompt it drops the line */
            printf("\n");
            continue;
        }
        if (!line || n <= 0)
            break;
        if (n > 1)
            history(past, &event, H_ENTER, line);
        take_interrupt();
        s = step_shell_do(shell, line, &quits);
    }
    if (!quits)
        printf("\n");
    return s;
}

static enum emu_status read_terminal(struct step_shell *shell)
{
    EditLine *el = el_init("superstep", stdin, stdout, stderr);
    History *past = history_init();
    enum emu_status s = EMU_OK;
    HistEvent event;

    if (!el || !past) {
        s = FAIL(NO_MEMORY, "line editing");
    } else {
        history(past, &event, H_SETSIZE, LINES_KEPT);
        el_set(el, EL_PROMPT, prompt);
        el_set(el, EL_EDITOR, "emacs");
        el_set(el, EL_HIST, history, past);
        el_set(el, EL_SIGNAL, 1);
        s = edit_lines(el, past, shell);
    }
    if (past)
        history_end(past);
    if (el)
        el_end(el);
    return s;
}

/* ---- the session ---- */

static enum emu_status talk(const struct request *q, struct step_shell *shell, int *code)
{
    int is_terminal =
        !option_script(q) && !option_json(q) && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);

    TRY(step_shell_begin(shell));
    if (is_terminal) {
        *code = EXIT_RAN;
        catch_interrupts();
        return read_terminal(shell);
    }
    TRY(option_script(q) ? read_script(q, shell) : read_stream(q, shell, stdin));
    *code = step_shell_wrong(shell) ? EXIT_BAD : EXIT_RAN;
    return EMU_OK;
}

enum emu_status step_session(const struct request *q, struct run *r, const struct step_names *names,
                             int *code)
{
    struct stepper_options o = {
        .history_bytes = (size_t)(request_has(q, OPTION_history) ? option_history(q) : HISTORY_MIB)
                         << 20,
        .interrupted = take_interrupt,
    };
    struct step_shell *shell = NULL;
    struct stepper *stepper;
    enum emu_status s;

    if (names)
        o.names = *names;
    TRY(stepper_new(r, &o, &stepper));
    s = step_shell_new(stepper, stdout, option_json(q), &shell);
    if (s == EMU_OK)
        s = talk(q, shell, code);
    step_shell_free(shell);
    stepper_free(stepper);
    return s;
}
