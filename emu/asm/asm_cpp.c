/* asm_cpp.c - reads source files, and runs the C preprocessor as a child process.
 *
 * It runs only where a text has directives, without a shell, with an empty
 * environment but for the search path, and writes into anonymous files, so that neither the locale
 * nor the include variables of the user can change the result. Its line markers stay in the text.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/arch/arch_numbers.h"
#include "emu/asm/asm_headers.h"
#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"
#include "emu/base/embedded.h"

/* Reads a whole regular file from its start. */
static enum emu_status fd_read(int fd, const char *path, char **out, size_t *len)
{
    struct stat st;
    size_t n = 0;

    *out = NULL;
    *len = 0;
    if (fstat(fd, &st))
        return FAIL(IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size > MAX_FILE_BYTES)
        return FAIL(IO, "%s: not a regular file of at most %d bytes", path, MAX_FILE_BYTES);
    *out = emu_alloc((size_t)st.st_size + 1, 1);
    if (!*out)
        return FAIL(NO_MEMORY, "%s", path);
    while (n < (size_t)st.st_size) {
        ssize_t got = pread(fd, *out + n, (size_t)st.st_size - n, (off_t)n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    *len = n;
    return EMU_OK;
}

enum emu_status file_read(const char *path, char **out, size_t *len)
{
    int fd = embedded_open(path, O_NONBLOCK);
    enum emu_status st;

    *out = NULL;
    *len = 0;
    if (fd < 0)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    st = fd_read(fd, path, out, len);
    close(fd);
    return st;
}

static int has(struct span text, const char *what)
{
    return text.n && memmem(text.s, text.n, what, strlen(what)) != NULL;
}

/* "# 12 "file"": the text went through a preprocessor already. */
static int is_marker(const char *p, const char *end)
{
    return end - p > 2 && p[1] == ' ' && p[2] >= '0' && p[2] <= '9';
}

/* Whether a text needs the preprocessor: it has a directive, or what only the preprocessor knows.
 */
static int needs_cpp(const struct asm_unit *u, struct span text)
{
    const char *end = text.s + text.n;

    if (u->options.define_count || has(text, "SUPERSTEP_") || has(text, "__IPU") ||
        has(text, "\\\n"))
        return 1;
    for (const char *p = text.s; p < end;) {
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        if (p < end && *p == '#' && !is_marker(p, end))
            return 1;
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : end;
    }
    return 0;
}

/* Arguments of cpp; strings are in the arena of the unit. */
struct cpp_command {
    struct asm_unit *u;
    const char **argv;
    size_t n;
    int failed;
};

static void command_add(struct cpp_command *c, const char *fmt, ...) EMU_PRINTF(2, 3);

static void command_add(struct cpp_command *c, const char *fmt, ...)
{
    char text[PATH_MAX + 16];
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (n < 0 || n >= (int)sizeof(text))
        c->failed = 1;
    else
        c->argv[c->n++] = unit_copy(c->u, span_of(text, (size_t)n)).s;
}

/* What the headers of emu/asm/include say about the machine: first what all machines have in
 * common. */
static void command_add_machine(struct cpp_command *c)
{
    const struct arch *a = &c->u->arch;

    command_add(c, "-D__IPU__=1");
    command_add(c, "-D__USER_LABEL_PREFIX__=");
    command_add(c, "-DSUPERSTEP_ADDRESS_BITS=%u", arch_address_bits(a));
    command_add(c, "-DSUPERSTEP_ADDRESS_MASK=0x%x", (1u << arch_address_bits(a)) - 1);
    command_add(c, "-DSUPERSTEP_WORKERS=%u", a->workers);
    if (c->u->options.any_machine)
        return;
    command_add(c, "-D__IPU_ARCH_VERSION__=%u", arch_isa(a));
    command_add(c, "-DSUPERSTEP_MEM_BASE=0x%x", a->mem_base);
    command_add(c, "-DSUPERSTEP_REGION0_BYTES=0x%x", a->region0_bytes);
    command_add(c, "-DSUPERSTEP_REGION1_BASE=0x%x", a->mem_base + a->region0_bytes);
    command_add(c, "-DSUPERSTEP_ELEMENT_BYTES=0x%x", a->element_bytes);
    command_add(c, "-DSUPERSTEP_ELEMENT_PAIR_BYTES=0x%x", 2 * a->element_bytes);
    command_add(c, "-DSUPERSTEP_RPT_COUNT_MASK=0x%x", (1u << arch_rpt_count_bits(a)) - 1);
}

/* path: the source; it comes on standard input instead when is_text is set. */
static const char *const *command_build(struct asm_unit *u, const char *path, int is_text,
                                        const struct header_folder *headers)
{
    static const char *const fixed[] = {
        "cpp",
        "-x",
        "assembler-with-cpp",
        "-undef",
        "-nostdinc",
        "-fno-dollars-in-identifiers",
        "-fno-diagnostics-show-caret",
        "-fdiagnostics-color=never",
    };
    enum { MACHINE_ARGS = 12, OTHER_ARGS = 4 /* two folders, the source, the end */ };
    const struct asm_options *o = &u->options;
    struct cpp_command c = { u, NULL, 0, 0 };
    const char *slash = strrchr(path, '/');

    c.argv = unit_alloc(
        u, EMU_COUNT_OF(fixed) + MACHINE_ARGS + OTHER_ARGS + o->define_count + o->include_dir_count,
        sizeof(*c.argv));
    if (!c.argv)
        return NULL;
    for (size_t i = 0; i < EMU_COUNT_OF(fixed); i++)
        c.argv[c.n++] = fixed[i];
    command_add_machine(&c);
    for (size_t i = 0; i < o->define_count; i++)
        command_add(&c, "-D%s", o->defines[i]);
    for (size_t i = 0; i < o->include_dir_count; i++)
        command_add(&c, "-I%s", o->include_dirs[i]);
    command_add(&c, "-I%s/emu/asm/include", headers->path);
    if (slash && embedded_find(path)) /* what stands beside it */
        command_add(&c, "-I%s/%.*s", headers->path, (int)(slash - path), path);
    command_add(&c, "%s%s", !is_text && path[0] == '-' && path[1] ? "./" : "",
                is_text ? "-" : path);
    for (size_t i = 0; i < c.n; i++)
        c.failed |= !c.argv[i];
    return c.failed ? NULL : c.argv;
}

/* Runs argv with the three streams and the signal mask given. Returns the exit status, or -1 with
 * errno. */
static int child_run(const char *const *argv, const int fd[3], const sigset_t *signals)
{
    char path[PATH_MAX];
    char locale[] = "LC_ALL=C";
    char *env[] = { path, locale, NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    const char *search = getenv("PATH");
    int status = 0, error;
    pid_t pid;

    snprintf(path, sizeof(path), "PATH=%s", search && *search ? search : "/usr/bin:/bin");
    error = posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    for (int i = 0; i < 3 && !error; i++)
        error = posix_spawn_file_actions_adddup2(&actions, fd[i], i);
    if (!error)
        error = posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    while (!error && waitpid(pid, &status, 0) < 0)
        error = errno == EINTR ? 0 : errno;
    errno = error;
    return error ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* "file:line:column: error: text" of cpp to a diagnostic; other lines are dropped. */
static void diag_line(struct asm_unit *u, struct span line)
{
    static const struct {
        const char *word;
        enum asm_diag_kind kind;
    } words[] = {
        { ": fatal error: ", ASM_ERROR },
        { ": error: ", ASM_ERROR },
        { ": warning: ", ASM_WARNING },
        { ": note: ", ASM_NOTE },
    };

    for (size_t k = 0; k < EMU_COUNT_OF(words); k++) {
        const char *word = memmem(line.s, line.n, words[k].word, strlen(words[k].word));
        const char *text, *p;
        struct loc at = { NULL, 0, 0 };
        unsigned long number[2] = { 0, 0 };
        int numbers = 0;

        if (!word)
            continue;
        text = word + strlen(words[k].word);
        for (p = word; numbers < 2; numbers++) {
            const char *digit = p;

            while (digit > line.s && digit[-1] >= '0' && digit[-1] <= '9')
                digit--;
            if (digit == p || digit == line.s || digit[-1] != ':')
                break;
            number[numbers] = strtoul(digit, NULL, 10);
            p = digit - 1;
        }
        at.file = unit_file_name(u, line.s, (size_t)(p - line.s));
        at.line = (uint32_t)number[numbers == 2];
        at.column = numbers == 2 ? (uint32_t)number[0] : 0;
        unit_diag(u, words[k].kind, at, "%.*s", (int)(line.s + line.n - text), text);
        return;
    }
}

static void diag_lines(struct asm_unit *u, const char *text, size_t len)
{
    while (len) {
        const char *end = memchr(text, '\n', len);
        size_t n = end ? (size_t)(end - text) : len;

        diag_line(u, span_of(text, n));
        n += end != NULL;
        text += n;
        len -= n;
    }
}

static enum emu_status cpp_finish(struct asm_unit *u, const char *path, int code, const int fd[3],
                                  const struct header_folder *headers, char **out, size_t *len)
{
    char *messages = NULL;
    size_t n = 0, errors = u->errors;
    enum emu_status st;

    if (code < 0 && errno == ENOENT)
        return FAIL(IO, "%s: it has preprocessor directives, and no program cpp is installed",
                    path);
    if (code < 0)
        return FAIL(IO, "cannot run cpp: %s", strerror(errno));
    st = fd_read(fd[2], "messages of cpp", &messages, &n);
    if (st == EMU_OK) {
        headers_forget(headers, messages, &n);
        diag_lines(u, messages, n);
    }
    ss_free(messages);
    TRY(st);
    if (code && u->errors == errors)
        unit_diag(u, ASM_ERROR, (struct loc){ path, 0, 0 }, "cpp failed with status %d", code);
    TRY(unit_status(u));
    TRY(fd_read(fd[1], "output of cpp", out, len));
    headers_forget(headers, *out, len);
    return EMU_OK;
}

/* Text is passed on standard input, after a directive that names it. */
static int input_write(int fd, const char *name, struct span text)
{
    return dprintf(fd, "#line 1 \"%s\"\n", name) > 0 &&
           write(fd, text.s, text.n) == (ssize_t)text.n && !lseek(fd, 0, SEEK_SET);
}

/* Runs cpp on the file, or on text if there is one. */
static enum emu_status run_with(struct asm_unit *u, const char *path, struct span text,
                                const struct header_folder *headers, char **out, size_t *len)
{
    const char *const *argv = command_build(u, path, text.s != NULL, headers);
    int fd[3] = { -1, -1, -1 };
    enum emu_status st;

    if (!argv)
        return u->no_memory ? FAIL(NO_MEMORY, "arguments of cpp")
                            : FAIL(IO, "an argument of cpp is too long");
    fd[0] = memfd_create("input", MFD_CLOEXEC);
    fd[1] = memfd_create("output", MFD_CLOEXEC);
    fd[2] = memfd_create("messages", MFD_CLOEXEC);
    if (fd[0] < 0 || fd[1] < 0 || fd[2] < 0 || (text.s && !input_write(fd[0], path, text)))
        st = FAIL(IO, "temporary files of cpp: %s", strerror(errno));
    else
        st = cpp_finish(u, path, child_run(argv, fd, &headers->signals), fd, headers, out, len);
    for (int i = 0; i < 3; i++) {
        if (fd[i] >= 0)
            close(fd[i]);
    }
    return st;
}

static enum emu_status preprocess(struct asm_unit *u, const char *path, struct span text,
                                  char **out, size_t *len)
{
    struct header_folder headers;
    enum emu_status s = headers_write(&headers);

    if (s == EMU_OK)
        s = run_with(u, path, text, &headers, out, len);
    headers_remove(&headers);
    return s;
}

/* What cpp would write for a text without directives: the text, after a marker of its first line.
 */
static enum emu_status mark_text(const char *path, struct span text, char **out, size_t *len)
{
    size_t room = strlen(path) + sizeof("# 1 \"\"\n"), n;

    *out = emu_alloc(room + text.n, 1);
    if (!*out)
        return FAIL(NO_MEMORY, "%s", path);
    n = (size_t)snprintf(*out, room, "# 1 \"%s\"\n", path);
    memcpy(*out + n, text.s, text.n);
    *len = n + text.n;
    return EMU_OK;
}

enum emu_status cpp_run(struct asm_unit *u, const char *path, struct span text, char **out,
                        size_t *len)
{
    struct span given = text;
    char *read = NULL;
    enum emu_status s;

    *out = NULL;
    *len = 0;
    if (!text.s) {
        TRY(file_read(path, &read, &given.n));
        given.s = read;
    }
    if (needs_cpp(u, given)) {
        if (access(path, R_OK))
            text = given; /* no file, so one of the program */
        s = preprocess(u, path, text, out, len);
    } else {
        s = mark_text(path, given, out, len);
    }
    ss_free(read);
    return s;
}
