/* SPDX-License-Identifier: MIT */
#include "harness/base/whole_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20, PATH_BYTES = 1024 };

struct gnn_whole_file {
    const char *option;
    FILE *stream;
    char *buffer; /* (BUFFER_BYTES) */
    char path[PATH_BYTES], part[PATH_BYTES + 8];
    bool has_part;   /* the file has the name `part` now */
    int write_error; /* of the first write that failed; 0: none */
};

/* Fails if something else would be overwritten: a dataset's file, the database. */
static enum gnn_status check_earlier(const struct gnn_whole_file *file, const char *magic, struct gnn_err *err)
{
    struct stat info;
    char begin[64] = "";
    assert(strlen(magic) < sizeof begin);
    if (stat(file->path, &info) != 0)
        return GNN_OK; /* missing, or the next opening fails with the reason */
    if (!S_ISREG(info.st_mode))
        return gnn_fail(err, GNN_EUSAGE, "%s %s: is no regular file; name another one", file->option, file->path);
    FILE *const earlier = fopen(file->path, "re");
    if (earlier == NULL)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EPERM), "%s %s: %s; name another file", file->option,
                        file->path, strerror(errno));
    const size_t got = fread(begin, 1, strlen(magic), earlier);
    (void)fclose(earlier);
    if (got == 0 || (got == strlen(magic) && memcmp(begin, magic, got) == 0))
        return GNN_OK;
    return gnn_fail(err, GNN_EUSAGE, "%s %s: exists and holds something else; name another file", file->option,
                    file->path);
}

/* Returns a descriptor of a file without a name in the directory of the path; otherwise of the file `part`, or -1. */
static int open_unnamed(struct gnn_whole_file *file)
{
    char dir[PATH_BYTES];
    const char *const slash = strrchr(file->path, '/');
    const int len = slash == NULL ? 0 : (int)(slash - file->path) + 1;
    (void)snprintf(dir, sizeof dir, "%.*s", len > 0 ? len : 1, len > 0 ? file->path : ".");
    const int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOTSUP))
        return fd;
    const int named = open(file->part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    file->has_part = named >= 0;
    return named;
}

static enum gnn_status open_stream(struct gnn_whole_file *file, struct gnn_err *err)
{
    const int fd = open_unnamed(file);
    if (fd < 0)
        return gnn_fail(err, gnn_errno_status(errno, GNN_EUSAGE),
                        "%s %s: %s; name a file in a directory that can be "
                        "written",
                        file->option, file->path, strerror(errno));
    file->stream = fdopen(fd, "w");
    if (file->stream == NULL) {
        (void)close(fd);
        return gnn_fail(err, GNN_ENOMEM, "%s %s: a stream", file->option, file->path);
    }
    GNN_NEW(file->buffer, BUFFER_BYTES, err, "%s %s: a buffer", file->option, file->path);
    (void)setvbuf(file->stream, file->buffer, _IOFBF, BUFFER_BYTES);
    return GNN_OK;
}

enum gnn_status gnn_whole_file_open(const char *option, const char *path, const char *magic,
                                    struct gnn_whole_file **out, struct gnn_err *err)
{
    struct gnn_whole_file *file;
    *out = NULL;
    GNN_NEW(file, 1, err, "%s %s", option, path);
    file->option = option;
    const int len = snprintf(file->path, sizeof file->path, "%s", path);
    (void)snprintf(file->part, sizeof file->part, "%s.part", path);
    enum gnn_status status = GNN_OK;
    if (len < 0 || (size_t)len >= sizeof file->path)
        status = gnn_fail(err, GNN_EUSAGE, "%s %.40s...: a path of more than %d bytes", option, path, PATH_BYTES - 1);
    GNN_NEXT(status, check_earlier(file, magic, err));
    GNN_NEXT(status, open_stream(file, err));
    if (status == GNN_OK)
        (void)unlink(path); /* if this file is not finished, an earlier one must not pass for it */
    return GNN_OPENED(status, file, out, gnn_whole_file_close);
}

FILE *gnn_whole_file_stream(struct gnn_whole_file *file)
{
    return file->stream;
}

enum gnn_status gnn_whole_file_flush(struct gnn_whole_file *file, struct gnn_err *err)
{
    errno = 0;
    if ((fflush(file->stream) != 0 || ferror(file->stream) != 0) && file->write_error == 0)
        file->write_error = errno != 0 ? errno : EIO;
    if (file->write_error == 0)
        return GNN_OK;
    return gnn_fail(err, file->write_error == ENOSPC ? GNN_ENOSPC : GNN_EIO,
                    "%s %s: %s; nothing is kept of it: free some space, or name a file on another disk", file->option,
                    file->path, strerror(file->write_error));
}

/* Gives the file without a name the name `part`. Returns 0 or an errno. */
static int name_part(struct gnn_whole_file *file)
{
    char self[64];
    (void)snprintf(self, sizeof self, "/proc/self/fd/%d", fileno(file->stream));
    (void)unlink(file->part);
    if (linkat(AT_FDCWD, self, AT_FDCWD, file->part, AT_SYMLINK_FOLLOW) != 0)
        return errno;
    file->has_part = true;
    return 0;
}

enum gnn_status gnn_whole_file_finish(struct gnn_whole_file *file, struct gnn_err *err)
{
    GNN_TRY(gnn_whole_file_flush(file, err));
    int error = file->has_part ? 0 : name_part(file);
    if (error == 0 && rename(file->part, file->path) != 0)
        error = errno;
    if (error != 0)
        return gnn_fail(err, gnn_errno_status(error, GNN_EIO), "%s %s: cannot be given its name: %s; name another file",
                        file->option, file->path, strerror(error));
    file->has_part = false;
    return GNN_OK;
}

void gnn_whole_file_close(struct gnn_whole_file *file)
{
    if (file == NULL)
        return;
    if (file->stream != NULL)
        (void)fclose(file->stream);
    if (file->has_part)
        (void)unlink(file->part);
    free(file->buffer);
    free(file);
}
