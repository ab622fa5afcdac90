/* SPDX-License-Identifier: MIT */
/* oocgnn new-system: writes the directory of a system that is built outside this tree. */
#include "harness/base/out_file.h"
#include "harness/cli/args.h"
#include "harness/cli/commands.h"
#include "harness/run/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LETTERS_MAX = 31, PATH_BYTES = 1024 };

/* The word of the templates that the system's name replaces. */
static const char placeholder[] = "skeleton";

static const struct {
    const char *name, *suffix; /* of the file; name NULL: the system's */
    const char *text;
} files[] = {
    {
        NULL,
        "c",
#include "templates/skeleton/skeleton.c.inc"
    },
    {
        "Makefile",
        "",
#include "templates/skeleton/Makefile.inc"
    },
    {
        "README",
        "md",
#include "templates/skeleton/README.md.inc"
    },
};
enum { FILES = sizeof files / sizeof *files };

struct words {
    const char *name, *dir;
};

/* Writes DIR/FILE. */
static void file_path(const struct words *w, int file, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s%s%s", w->dir, files[file].name == NULL ? w->name : files[file].name,
                   files[file].suffix[0] == '\0' ? "" : ".", files[file].suffix);
}

static enum gnn_status check_name(const char *name, struct gnn_err *err)
{
    const struct gnn_system *system;
    const size_t length = strlen(name);
    if (length == 0 || length > NAME_LETTERS_MAX || !islower((unsigned char)name[0]) ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length)
        return gnn_fail(err, GNN_EUSAGE,
                        "new-system \"%s\": a name has 1 to %d lower-case letters, digits and _, and begins with a "
                        "letter; choose another",
                        name, NAME_LETTERS_MAX);
    if (gnn_system_find(name, &system, NULL) == GNN_OK)
        return gnn_fail(err, GNN_EUSAGE, "new-system %s: this build has a system of that name (%s); choose another",
                        name, system->title);
    return GNN_OK;
}

static enum gnn_status make_dir(const struct words *w, struct gnn_err *err)
{
    if (strlen(w->dir) + NAME_LETTERS_MAX + sizeof "/.so" > PATH_BYTES)
        return gnn_fail(err, GNN_EUSAGE, "new-system %s: the path has more than %d characters; use a shorter one",
                        w->name, PATH_BYTES);
    if (mkdir(w->dir, 0777) == 0)
        return GNN_OK;
    if (errno == EEXIST)
        return gnn_fail(err, GNN_EUSAGE, "new-system %s: %s exists; name a directory that does not, or remove it",
                        w->name, w->dir);
    return gnn_fail(err, gnn_errno_status(errno, errno == ENOENT ? GNN_ENOENT : GNN_EPERM),
                    "new-system %s: cannot make %s: %s; make its parent directory first", w->name, w->dir,
                    strerror(errno));
}

/* Writes the text with the system's name in place of the placeholder. */
static void put_text(const char *text, const char *name, FILE *out)
{
    for (const char *at = text; *at != '\0';) {
        const char *const found = strstr(at, placeholder);
        const size_t length = found == NULL ? strlen(at) : (size_t)(found - at);
        (void)fwrite(at, 1, length, out);
        if (found != NULL)
            (void)fputs(name, out);
        at += length + (found == NULL ? 0 : sizeof placeholder - 1);
    }
}

static enum gnn_status write_file(const struct words *w, int file, struct gnn_err *err)
{
    char path[PATH_BYTES];
    file_path(w, file, path);
    FILE *const out = fopen(path, "w");
    if (out == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EPERM), "new-system %s: %s: %s", w->name, path,
                        strerror(errno));
    put_text(files[file].text, w->name, out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return GNN_OK;
    return gnn_fail(err, errno == ENOSPC ? GNN_ENOSPC : GNN_EIO, "new-system %s: writing %s: %s", w->name, path,
                    strerror(errno));
}

/* After an error nothing of the directory is left. */
static enum gnn_status write_all(const struct words *w, struct gnn_err *err)
{
    char path[PATH_BYTES];
    enum gnn_status status = GNN_OK;
    GNN_TRY(check_name(w->name, err));
    GNN_TRY(make_dir(w, err));
    for (int i = 0; i < FILES; i++)
        GNN_NEXT(status, write_file(w, i, err));
    for (int i = 0; i < FILES && status != GNN_OK; i++) {
        file_path(w, i, path);
        (void)unlink(path);
    }
    if (status != GNN_OK)
        (void)rmdir(w->dir);
    return status;
}

static enum gnn_status take_word(void *ctx, const char *word, struct gnn_err *err)
{
    struct words *const w = ctx;
    if (w->name != NULL && w->dir != NULL)
        return gnn_fail(err, GNN_EUSAGE, "new-system: unexpected argument \"%s\"; see `oocgnn new-system --help`",
                        word);
    *(w->name == NULL ? &w->name : &w->dir) = word;
    return GNN_OK;
}

int gnn_cmd_new_system(int argc, char **argv)
{
    static const struct gnn_option no_options[] = {{.name = NULL}};
    static const struct gnn_command_line line = {
        .usage = "usage: oocgnn new-system NAME DIR\n\n"
                 "Writes a directory with a complete system of that name: source, Makefile, README. `make` builds it\n"
                 "outside the source tree of oocgnn, as a shared object for --system. The headers are those of an\n"
                 "installed oocgnn (pkg-config), or with OOCGNN_DIR=DIR those of a source tree.\n\n"
                 "example: oocgnn new-system mine mine && make -C mine && oocgnn check-system mine/mine.so\n",
        .table = no_options,
        .word = take_word};
    struct gnn_err err = {0};
    struct words words = {NULL, NULL};
    char nothing;
    int exit_status;
    if (!gnn_args_parse(&line, argc, argv, &nothing, &words, &exit_status))
        return exit_status;
    enum gnn_status status = GNN_OK;
    if (words.dir == NULL)
        status = gnn_fail(&err, GNN_EUSAGE,
                          "new-system: a name and a directory are required: oocgnn new-system mine "
                          "./mine");
    GNN_NEXT(status, write_all(&words, &err));
    if (status != GNN_OK)
        return gnn_cli_failed(&err);
    (void)printf("%s/%s.c is a complete system. Build and check it:\n  make -C %s && oocgnn check-system %s/%s.so\n",
                 words.dir, words.name, words.dir, words.dir, words.name);
    return GNN_EXIT_OK;
}
