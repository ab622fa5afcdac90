/* SPDX-License-Identifier: MIT */
#include "harness/cli/operand.h"

#include "harness/base/data_dirs.h"
#include "harness/cli/builds.h"
#include "harness/compare/baseline.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

/* ---- jobs ---- */

static bool fill_jobs(const char *dir, struct gnn_gate_jobs *out)
{
    (void)snprintf(out->exact, sizeof out->exact, "%.900s/exact.ini", dir);
    (void)snprintf(out->instructions, sizeof out->instructions, "%.900s/instructions.ini", dir);
    (void)snprintf(out->time, sizeof out->time, "%.900s/time.ini", dir);
    return access(out->exact, R_OK) == 0 || access(out->time, R_OK) == 0;
}

enum gnn_status gnn_gate_jobs(const char *dir, struct gnn_gate_jobs *out, struct gnn_err *err)
{
    struct gnn_data_dirs found;
    if (dir[0] != '\0')
        return fill_jobs(dir, out) ? GNN_OK
                                   : gnn_fail(err, GNN_ENOENT, "--jobs %s: no exact.ini and no time.ini there: %s", dir,
                                              strerror(errno));
    gnn_gate_dirs(&found);
    for (const char *const *at = found.dirs; *at != NULL; at++)
        if (fill_jobs(*at, out))
            return GNN_OK;
    return gnn_fail(err, GNN_ENOENT,
                    "the jobs of the gate (workloads/gate) are not in the directory of this program; give their "
                    "directory: --jobs DIR");
}

/* ---- which of the three ---- */

static const char kinds[] = "a build (a program), a database of runs, or a baseline file (`oocgnn baseline --help`)";

/* Reads the first bytes of a file, which has some. `what` stands before its name where it has none. */
static enum gnn_status read_head(const char *what, const char *path, char head[16], size_t *got, struct gnn_err *err)
{
    FILE *const file = fopen(path, "re");
    if (file == NULL)
        return gnn_fail(err, errno == ENOENT ? GNN_ENOENT : gnn_errno_status(errno, GNN_EPERM),
                        "%s \"%s\": %s; name %s", what, path, strerror(errno), kinds);
    errno = 0;
    *got = fread(head, 1, 16, file);
    const int error = errno;
    (void)fclose(file);
    return *got > 0 ? GNN_OK
                    : gnn_fail(err, GNN_EUSAGE, "%s %s: %s; name %s", what, path,
                               error == 0 ? "it is empty" : strerror(error), kinds);
}

static enum gnn_status kind_of(const char *what, const char *path, enum gnn_operand_kind *out, struct gnn_err *err)
{
    char head[16] = "";
    size_t got = 0;
    GNN_TRY(read_head(what, path, head, &got, err));
    const bool program = got >= 4 && (memcmp(head, "\177ELF", 4) == 0 || memcmp(head, "#!", 2) == 0);
    if (got == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0)
        *out = GNN_OPERAND_DATABASE;
    else if (head[0] == '{')
        *out = GNN_OPERAND_BASELINE;
    else if (program && strchr(path, '/') == NULL)
        return gnn_fail(err, GNN_EUSAGE, "%s %s: write ./%s to run the program of that name in this directory", what,
                        path, path);
    else if (program && access(path, X_OK) == 0)
        *out = GNN_OPERAND_BUILD;
    else
        return gnn_fail(err, GNN_EUSAGE, "%s %s: neither a database of runs, nor a baseline, nor a program%s; name %s",
                        what, path, program ? " that may be started" : "", kinds);
    return GNN_OK;
}

enum gnn_status gnn_operand_open(const char *what, const char *path, struct gnn_operand *out, struct gnn_err *err)
{
    *out = (struct gnn_operand){.path = path};
    (void)snprintf(out->facts.name, sizeof out->facts.name, "%s", path);
    GNN_TRY(kind_of(what, path, &out->kind, err));
    if (out->kind == GNN_OPERAND_BASELINE) {
        GNN_TRY(gnn_baseline_read(path, &out->facts, &out->accepted, err));
        if (out->facts.instructions.count == 0)
            (void)snprintf(out->facts.no_instructions, sizeof out->facts.no_instructions,
                           "%.100s has none; write it with valgrind installed", path);
    }
    if (out->kind == GNN_OPERAND_DATABASE) {
        GNN_TRY(gnn_facts_add_database(&out->facts, path, err));
        gnn_facts_label(&out->facts);
        (void)snprintf(out->facts.no_instructions, sizeof out->facts.no_instructions, "%s is a database: it has none",
                       path);
    }
    return GNN_OK;
}

void gnn_operand_close(struct gnn_operand *operand)
{
    gnn_facts_clear(&operand->facts);
    json_decref(operand->accepted);
    operand->accepted = NULL;
}

/* ---- builds ---- */

static enum gnn_status run_exact(struct gnn_operand *o, const char *job_file, const char *data, const char *dir,
                                 struct gnn_err *err)
{
    struct gnn_build_job job;
    GNN_TRY(gnn_build_job_open(o->path, job_file, data, &job, err));
    const enum gnn_status status = gnn_build_facts(o->path, &job, dir, &o->facts, err);
    gnn_build_job_close(&job);
    return status;
}

static enum gnn_status count_instructions(struct gnn_operand *o, const char *job_file, const char *data,
                                          const char *dir, struct gnn_err *err)
{
    struct gnn_build_job job;
    GNN_TRY(gnn_build_job_open(o->path, job_file, data, &job, err));
    const enum gnn_status status = gnn_build_instructions(o->path, &job, dir, &o->facts, err);
    gnn_build_job_close(&job);
    return status;
}

enum gnn_status gnn_operand_run(struct gnn_operand *operand, const struct gnn_gate_jobs *jobs, bool exact,
                                bool instructions, const char *data, const char *dir, struct gnn_err *err)
{
    if (operand->kind != GNN_OPERAND_BUILD)
        return GNN_OK;
    if (exact)
        GNN_TRY(run_exact(operand, jobs->exact, data, dir, err));
    return instructions ? count_instructions(operand, jobs->instructions, data, dir, err) : GNN_OK;
}

/* ---- a folder to write in ---- */

enum gnn_status gnn_work_dir_make(char *path, size_t path_bytes, struct gnn_err *err)
{
    const char *const base = getenv("TMPDIR");
    const int length = snprintf(path, path_bytes, "%s/oocgnn-compare-XXXXXX", base != NULL ? base : P_tmpdir);
    if (length < 0 || (size_t)length >= path_bytes)
        return gnn_fail(err, GNN_EUSAGE, "TMPDIR: the path is too long");
    if (mkdtemp(path) == NULL)
        return gnn_fail(err, GNN_EPERM, "%s: %s; TMPDIR names a folder that may be written", path, strerror(errno));
    return GNN_OK;
}

void gnn_work_dir_remove(const char *path)
{
    char name[PATH_BYTES];
    DIR *const dir = opendir(path);
    for (const struct dirent *entry = dir == NULL ? NULL : readdir(dir); entry != NULL; entry = readdir(dir))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)snprintf(name, sizeof name, "%.700s/%.300s", path, entry->d_name);
            (void)unlink(name);
        }
    if (dir != NULL)
        (void)closedir(dir);
    (void)rmdir(path);
}
