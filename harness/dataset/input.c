/* SPDX-License-Identifier: MIT */
#include "harness/dataset/input.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { GZ_BUFFER = 65536 };

bool gnn_input_find(const char *dir, const char *name, char path[GNN_OUTPUT_PATH])
{
    (void)snprintf(path, GNN_OUTPUT_PATH, "%s/%s", dir, name);
    if (access(path, F_OK) == 0)
        return true;
    (void)snprintf(path, GNN_OUTPUT_PATH, "%s/%s.gz", dir, name);
    return access(path, F_OK) == 0;
}

enum gnn_status gnn_input_open(const char *path, struct gnn_input **out, struct gnn_err *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return gnn_out_errno(errno, "cannot read", path, err);
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        return gnn_fail(err, GNN_EUSAGE, "%s is not a file", path);
    struct gnn_input *input;
    GNN_NEW(input, 1, err, "reader of %s", path);
    (void)snprintf(input->path, sizeof input->path, "%s", path);
    input->size_bytes = (uint64_t)info.st_size;
    input->gz = gzopen(path, "rbe");
    if (input->gz == NULL) {
        const int code = errno != 0 ? errno : ENOMEM;
        gnn_input_close(input);
        return gnn_out_errno(code, "cannot open", path, err);
    }
    (void)gzbuffer(input->gz, GZ_BUFFER);
    *out = input;
    return GNN_OK;
}

void gnn_input_close(struct gnn_input *input)
{
    if (input == NULL)
        return;
    if (input->gz != NULL)
        (void)gzclose_r(input->gz);
    free(input);
}

static enum gnn_status stream_error(const struct gnn_input *input, struct gnn_err *err)
{
    int code = Z_OK;
    const char *text = gzerror(input->gz, &code);
    if (code == Z_ERRNO)
        return gnn_out_errno(errno, "reading", input->path, err);
    return gnn_fail(err, GNN_EFORMAT, "%s: damaged or truncated gzip data near byte %" PRIu64 " (%s)", input->path,
                    gnn_input_position(input), text);
}

enum gnn_status gnn_input_read(struct gnn_input *input, void *dst, uint64_t bytes, uint64_t *got, struct gnn_err *err)
{
    *got = 0;
    while (*got < bytes) {
        const int step = gzread(input->gz, (char *)dst + *got, (unsigned)gnn_min_u64(bytes - *got, 1u << 30));
        if (step < 0)
            return stream_error(input, err);
        if (step == 0)
            break;
        *got += (uint64_t)step;
    }
    assert(*got <= bytes);
    int code = Z_OK;
    (void)gzerror(input->gz, &code); /* a stream that stops inside a member reads short and reports it here */
    return code == Z_OK || code == Z_STREAM_END ? GNN_OK : stream_error(input, err);
}

enum gnn_status gnn_input_skip(struct gnn_input *input, uint64_t bytes, struct gnn_err *err)
{
    if (bytes > INT64_MAX || gzseek(input->gz, (z_off_t)bytes, SEEK_CUR) < 0)
        return stream_error(input, err);
    return GNN_OK;
}

/* Some editors begin UTF-8 with an invisible mark. */
static void drop_mark(const struct gnn_input *input, char line[GNN_INPUT_LINE_MAX])
{
    if (input->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        memmove(line, line + 3, strlen(line + 3) + 1);
}

enum gnn_status gnn_input_line(struct gnn_input *input, char line[GNN_INPUT_LINE_MAX], bool *more, struct gnn_err *err)
{
    uint32_t used = 0;
    input->line++;
    for (;;) {
        if (input->text_at == input->text_len) {
            uint64_t got = 0;
            GNN_TRY(gnn_input_read(input, input->text, sizeof input->text, &got, err));
            input->text_at = 0;
            assert(got <= sizeof input->text);
            input->text_len = (uint32_t)got;
            if (got == 0)
                break;
        }
        const char *from = input->text + input->text_at;
        const uint32_t left = input->text_len - input->text_at;
        const char *newline = memchr(from, '\n', left);
        const uint32_t take = newline != NULL ? (uint32_t)(newline - from) : left;
        if (used + take >= GNN_INPUT_LINE_MAX || memchr(from, '\0', take) != NULL)
            return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": not a line of text", input->path, input->line);
        assert(used + take < GNN_INPUT_LINE_MAX);
        memcpy(line + used, from, take);
        used += take;
        input->text_at += take + (newline != NULL);
        if (newline != NULL) {
            *more = true;
            used -= used > 0 && line[used - 1] == '\r';
            line[used] = '\0';
            drop_mark(input, line);
            return GNN_OK;
        }
    }
    line[used] = '\0';
    *more = used > 0; /* a last line without its end */
    drop_mark(input, line);
    return GNN_OK;
}

uint64_t gnn_input_position(const struct gnn_input *input)
{
    const z_off_t at = gzoffset(input->gz);
    return at > 0 ? (uint64_t)at : 0;
}
