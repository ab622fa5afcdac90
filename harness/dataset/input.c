/* SPDX-License-Identifier: MIT */
#include "harness/dataset/input.h"

#include "harness/dataset/input_kind.h"
#include "harness/dataset/zip.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { GZ_BUFFER = 65536, DEFLATE_RATIO = 1032 /* the most that a byte of deflated data unpacks to */ };

bool gnn_input_find(const char *dir, const char *name, char path[GNN_OUTPUT_PATH])
{
    (void)snprintf(path, GNN_OUTPUT_PATH, "%s/%s", dir, name);
    if (access(path, F_OK) == 0)
        return true;
    (void)snprintf(path, GNN_OUTPUT_PATH, "%s/%s.gz", dir, name);
    return access(path, F_OK) == 0;
}

bool gnn_input_is_npz(const char *path)
{
    struct stat info;
    const size_t len = strlen(path);
    return len > 4 && strcmp(path + len - 4, ".npz") == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Splits "DIR/data.npz/NAME" if DIR/data.npz is a file. Returns NAME, or NULL for any other path. */
static const char *member_of(const char *path, char archive[GNN_OUTPUT_PATH])
{
    static const char *const ends[] = {".npz/", ".pt/", ".pth/"};
    struct stat info;
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (const char *at = strstr(path, ends[e]); at != NULL; at = strstr(at + 1, ends[e])) {
            const char *const slash = at + strlen(ends[e]) - 1;
            (void)snprintf(archive, GNN_OUTPUT_PATH, "%.*s", (int)(slash - path), path);
            if (stat(archive, &info) == 0 && S_ISREG(info.st_mode))
                return slash + 1;
        }
    return NULL;
}

bool gnn_input_exists(const char *path)
{
    char archive[GNN_OUTPUT_PATH];
    const char *const name = member_of(path, archive);
    struct gnn_zip *zip = NULL;
    struct gnn_zip_entry entry;
    bool found = false;
    if (name == NULL)
        return access(path, F_OK) == 0;
    if (gnn_zip_open(archive, &zip, NULL) != GNN_OK)
        return false;
    const bool read = gnn_zip_find(zip, name, &entry, &found, NULL) == GNN_OK;
    gnn_zip_close(zip);
    return read && found;
}

static enum gnn_status open_member(struct gnn_input *input, const char *archive, const char *name, struct gnn_err *err)
{
    struct gnn_zip_entry entry;
    bool found = false;
    GNN_TRY(gnn_zip_open(archive, &input->zip, err));
    GNN_TRY(gnn_zip_find(input->zip, name, &entry, &found, err));
    if (!found)
        return gnn_fail(err, GNN_ENOENT, "%s has no member %s; `python3 -m zipfile -l %s` lists its members", archive,
                        name, archive);
    input->size_bytes = entry.packed_bytes;
    return gnn_zip_member_open(input->zip, &entry, &input->member, err);
}

static enum gnn_status open_file(struct gnn_input *input, const char *path, bool numbers, struct gnn_err *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return gnn_out_errno(errno, "cannot read", path, err);
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode))
        return gnn_fail(err, GNN_EUSAGE, "%s is not a file", path);
    input->size_bytes = (uint64_t)info.st_size;
    errno = 0;
    if (numbers)
        input->numbers = fopen(path, "rbe");
    else
        input->gz = gzopen(path, "rbe");
    if (input->numbers == NULL && input->gz == NULL)
        return gnn_out_errno(errno != 0 ? errno : ENOMEM, "cannot open", path, err);
    if (input->gz != NULL)
        (void)gzbuffer(input->gz, GZ_BUFFER);
    return GNN_OK;
}

static enum gnn_status new_input(const char *path, bool numbers, struct gnn_input **out, struct gnn_err *err)
{
    struct gnn_input *input;
    char archive[GNN_OUTPUT_PATH];
    const char *const name = member_of(path, archive);
    GNN_NEW(input, 1, err, "reader of %s", path);
    (void)snprintf(input->path, sizeof input->path, "%s", path);
    const enum gnn_status status =
        name != NULL ? open_member(input, archive, name, err) : open_file(input, path, numbers, err);
    return GNN_OPENED(status, input, out, gnn_input_close);
}

enum gnn_status gnn_input_open(const char *path, struct gnn_input **out, struct gnn_err *err)
{
    return new_input(path, false, out, err);
}

enum gnn_status gnn_input_open_numbers(const char *path, struct gnn_input **out, struct gnn_err *err)
{
    return new_input(path, true, out, err);
}

enum gnn_status gnn_input_open_memory(const char *path, const void *bytes, uint64_t len, struct gnn_input **out,
                                      struct gnn_err *err)
{
    struct gnn_input *input;
    GNN_NEW(input, 1, err, "reader of %s", path);
    (void)snprintf(input->path, sizeof input->path, "%s", path);
    input->size_bytes = len;
    input->numbers = fmemopen((void *)(uintptr_t)bytes, len, "rb");
    const enum gnn_status status = input->numbers != NULL ? GNN_OK : gnn_out_errno(errno, "cannot read", path, err);
    return GNN_OPENED(status, input, out, gnn_input_close);
}

void gnn_input_close(struct gnn_input *input)
{
    if (input == NULL)
        return;
    if (input->gz != NULL)
        (void)gzclose_r(input->gz);
    if (input->numbers != NULL)
        (void)fclose(input->numbers);
    gnn_zip_member_close(input->member);
    gnn_zip_close(input->zip);
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

static enum gnn_status read_numbers(struct gnn_input *input, void *dst, uint64_t bytes, uint64_t *got,
                                    struct gnn_err *err)
{
    *got = fread(dst, 1, bytes, input->numbers);
    return ferror((FILE *)input->numbers) != 0 ? gnn_out_errno(errno, "reading", input->path, err) : GNN_OK;
}

enum gnn_status gnn_input_read(struct gnn_input *input, void *dst, uint64_t bytes, uint64_t *got, struct gnn_err *err)
{
    *got = 0;
    if (input->member != NULL)
        return gnn_zip_member_read(input->member, dst, bytes, got, err);
    if (input->numbers != NULL)
        return read_numbers(input, dst, bytes, got, err);
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
    if (input->member != NULL)
        return gnn_input_seek(input, gnn_zip_member_offset(input->member) + bytes, err);
    if (input->numbers != NULL)
        return gnn_input_seek(input, (uint64_t)ftello(input->numbers) + bytes, err);
    if (bytes > INT64_MAX || gzseek(input->gz, (z_off_t)bytes, SEEK_CUR) < 0)
        return stream_error(input, err);
    return GNN_OK;
}

enum gnn_status gnn_input_seek(struct gnn_input *input, uint64_t offset, struct gnn_err *err)
{
    if (input->member != NULL)
        return gnn_zip_member_seek(input->member, offset, err);
    if (input->numbers != NULL && fseeko(input->numbers, (off_t)offset, SEEK_SET) != 0)
        return gnn_out_errno(errno, "reading", input->path, err);
    if (input->numbers != NULL)
        return GNN_OK;
    if (offset > INT64_MAX || gzseek(input->gz, (z_off_t)offset, SEEK_SET) < 0)
        return stream_error(input, err);
    return GNN_OK;
}

bool gnn_input_seeks(const struct gnn_input *input)
{
    if (input->member != NULL)
        return gnn_zip_member_stored(input->member);
    return input->numbers != NULL || gzdirect(input->gz) != 0;
}

void gnn_input_unpacked_bytes(const struct gnn_input *input, uint64_t *least, uint64_t *most)
{
    if (input->member != NULL) {
        *least = *most = gnn_zip_member_bytes(input->member);
        return;
    }
    const bool packed = !gnn_input_seeks(input);
    *least = packed ? 0 : input->size_bytes;
    *most = packed ? gnn_mul_bytes(input->size_bytes, DEFLATE_RATIO) : input->size_bytes;
}

/* Some editors begin UTF-8 with an invisible mark. */
static void drop_mark(const struct gnn_input *input, char line[GNN_INPUT_LINE_MAX])
{
    if (input->line == 1 && strncmp(line, "\xef\xbb\xbf", 3) == 0)
        memmove(line, line + 3, strlen(line + 3) + 1);
}

/* Reads the next piece of text, which is empty at the end. The first one shows whether it is text. */
static enum gnn_status fill_text(struct gnn_input *input, struct gnn_err *err)
{
    uint64_t got = 0;
    const bool first = input->text_len == 0 && input->line == 1;
    GNN_TRY(gnn_input_read(input, input->text, sizeof input->text, &got, err));
    input->text_at = 0;
    assert(got <= sizeof input->text);
    input->text_len = (uint32_t)got;
    return first ? gnn_input_check_text(input->path, input->text, got, err) : GNN_OK;
}

static enum gnn_status fail_line(const struct gnn_input *input, bool binary, struct gnn_err *err)
{
    if (binary)
        return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": not a line of text%s", input->path, input->line,
                        gnn_input_binary(input->path));
    return gnn_fail(err, GNN_EFORMAT, "%s:%" PRIu64 ": not a line of text: it has more than %d bytes", input->path,
                    input->line, GNN_INPUT_LINE_MAX - 1);
}

enum gnn_status gnn_input_line(struct gnn_input *input, char line[GNN_INPUT_LINE_MAX], bool *more, struct gnn_err *err)
{
    uint32_t used = 0;
    input->line++;
    for (;;) {
        if (input->text_at == input->text_len) {
            GNN_TRY(fill_text(input, err));
            if (input->text_len == 0)
                break;
        }
        const char *from = input->text + input->text_at;
        const uint32_t left = input->text_len - input->text_at;
        const char *newline = memchr(from, '\n', left);
        const uint32_t take = newline != NULL ? (uint32_t)(newline - from) : left;
        const bool binary = memchr(from, '\0', take) != NULL;
        if (used + take >= GNN_INPUT_LINE_MAX || binary)
            return fail_line(input, binary, err);
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
    *more = used > 0; /* a last line without its end */
    input->unended = *more;
    used -= used > 0 && line[used - 1] == '\r';
    line[used] = '\0';
    drop_mark(input, line);
    return GNN_OK;
}

uint64_t gnn_input_position(const struct gnn_input *input)
{
    if (input->member != NULL)
        return gnn_zip_member_packed(input->member);
    const z_off_t at = input->numbers != NULL ? ftello(input->numbers) : gzoffset(input->gz);
    return at > 0 ? (uint64_t)at : 0;
}
