/* SPDX-License-Identifier: MIT */
#include "harness/dataset/zip.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    END_BYTES = 22,     /* end of the central directory */
    END64_BYTES = 56,   /* the same of a zip64 archive */
    LOCATOR_BYTES = 20, /* in front of the former: where the latter is */
    ENTRY_BYTES = 46,
    LOCAL_BYTES = 30,
    COMMENT_MAX = 65535,
    WINDOW = 65536,
    METHOD_STORED = 0,
    METHOD_DEFLATED = 8,
    DEFLATE_RATIO = 1032, /* the most that a byte of deflated data unpacks to */
    FLAG_ENCRYPTED = 1,
    EXTRA_ZIP64 = 1,
};

struct gnn_zip {
    char path[GNN_OUTPUT_PATH];
    int fd;
    uint64_t file_bytes;
    uint64_t directory, directory_bytes; /* offset and size of the central directory */
    uint64_t at;                         /* offset of the next entry in it */
};

struct gnn_zip_member {
    struct gnn_zip *zip;
    struct gnn_zip_entry entry;
    uint64_t data_offset;
    uint64_t packed_at, offset; /* packed bytes taken from the file; unpacked bytes delivered */
    uint32_t crc;
    bool sequential; /* crc covers all bytes so far */
    z_stream inflater;
    unsigned char window[WINDOW];
};

/* ---- bytes of the file ---- */

static uint64_t number(const unsigned char *at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static enum gnn_status damaged(const struct gnn_zip *zip, const char *what, struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT, "%s: %s: the archive is damaged or truncated; download or copy it again",
                    zip->path, what);
}

static enum gnn_status read_at(const struct gnn_zip *zip, uint64_t offset, void *dst, uint64_t bytes,
                               struct gnn_err *err)
{
    if (offset > zip->file_bytes || bytes > zip->file_bytes - offset)
        return damaged(zip, "a part is outside the file", err);
    for (uint64_t done = 0; done < bytes;) {
        const ssize_t step = pread(zip->fd, (char *)dst + done, bytes - done, (off_t)(offset + done));
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return gnn_out_errno(errno, "reading", zip->path, err);
        if (step == 0)
            return damaged(zip, "the file became shorter", err);
        done += (uint64_t)step;
    }
    return GNN_OK;
}

/* ---- the central directory ---- */

/* A zip64 archive has its sizes in a record that a locator in front of the end points to. */
static enum gnn_status read_end64(struct gnn_zip *zip, uint64_t end_offset, struct gnn_err *err)
{
    unsigned char locator[LOCATOR_BYTES], end[END64_BYTES];
    if (end_offset < LOCATOR_BYTES)
        return GNN_OK;
    GNN_TRY(read_at(zip, end_offset - LOCATOR_BYTES, locator, sizeof locator, err));
    if (memcmp(locator, "PK\6\7", 4) != 0)
        return GNN_OK;
    GNN_TRY(read_at(zip, number(locator + 8, 8), end, sizeof end, err));
    if (memcmp(end, "PK\6\6", 4) != 0)
        return damaged(zip, "no zip64 end of its directory", err);
    zip->directory_bytes = number(end + 40, 8);
    zip->directory = number(end + 48, 8);
    return GNN_OK;
}

static enum gnn_status find_directory(struct gnn_zip *zip, struct gnn_err *err)
{
    unsigned char *const tail = malloc(END_BYTES + COMMENT_MAX);
    if (tail == NULL)
        return gnn_fail(err, GNN_ENOMEM, "end of %s", zip->path);
    const uint64_t bytes = gnn_min_u64(zip->file_bytes, END_BYTES + COMMENT_MAX);
    enum gnn_status status = read_at(zip, zip->file_bytes - bytes, tail, bytes, err);
    bool found = false;
    uint64_t at = bytes;
    while (status == GNN_OK && !found && at >= END_BYTES) {
        found = memcmp(tail + at - END_BYTES, "PK\5\6", 4) == 0;
        at -= found ? END_BYTES : 1;
    }
    if (status == GNN_OK && !found)
        status = gnn_fail(err, GNN_EFORMAT,
                          "%s: no zip archive, or a truncated one: the end of its directory is missing; download or "
                          "copy it again",
                          zip->path);
    if (status == GNN_OK) {
        zip->directory_bytes = number(tail + at + 12, 4);
        zip->directory = number(tail + at + 16, 4);
        status = read_end64(zip, zip->file_bytes - bytes + at, err);
    }
    free(tail);
    if (status == GNN_OK &&
        (zip->directory > zip->file_bytes || zip->directory_bytes > zip->file_bytes - zip->directory))
        return damaged(zip, "its directory is outside the file", err);
    return status;
}

enum gnn_status gnn_zip_open(const char *path, struct gnn_zip **out, struct gnn_err *err)
{
    struct gnn_zip *zip;
    struct stat info;
    GNN_NEW(zip, 1, err, "reader of %s", path);
    (void)snprintf(zip->path, sizeof zip->path, "%s", path);
    zip->fd = open(path, O_RDONLY | O_CLOEXEC);
    enum gnn_status status = GNN_OK;
    if (zip->fd < 0 || fstat(zip->fd, &info) != 0)
        status = gnn_out_errno(errno, "cannot open", path, err);
    else if (!S_ISREG(info.st_mode))
        status = gnn_fail(err, GNN_EUSAGE, "%s is not a file", path);
    else
        zip->file_bytes = (uint64_t)info.st_size;
    GNN_NEXT(status, find_directory(zip, err));
    return GNN_OPENED(status, zip, out, gnn_zip_close);
}

void gnn_zip_close(struct gnn_zip *zip)
{
    if (zip == NULL)
        return;
    if (zip->fd >= 0)
        (void)close(zip->fd);
    free(zip);
}

/* Replaces each 32-bit value of all ones by the next 64-bit value of the zip64 field, in the order that it has. */
static enum gnn_status take_zip64(const struct gnn_zip *zip, const unsigned char *extra, uint64_t extra_bytes,
                                  struct gnn_zip_entry *e, struct gnn_err *err)
{
    uint64_t *const values[] = {&e->bytes, &e->packed_bytes, &e->header_offset};
    for (uint64_t at = 0; at + 4 <= extra_bytes;) {
        const uint64_t id = number(extra + at, 2), len = number(extra + at + 2, 2);
        at += 4;
        if (len > extra_bytes - at)
            return damaged(zip, "an extra field is cut", err);
        for (uint64_t i = 0, used = 0; id == EXTRA_ZIP64 && i < 3; i++)
            if (*values[i] == UINT32_MAX && used + 8 <= len) {
                *values[i] = number(extra + at + used, 8);
                used += 8;
            }
        at += len;
    }
    return GNN_OK;
}

enum gnn_status gnn_zip_next(struct gnn_zip *zip, struct gnn_zip_entry *out, bool *more, struct gnn_err *err)
{
    unsigned char head[ENTRY_BYTES], extra[65536];
    assert(zip->at <= zip->directory_bytes);
    *more = zip->directory_bytes - zip->at >= ENTRY_BYTES;
    if (!*more)
        return GNN_OK;
    const uint64_t offset = zip->directory + zip->at;
    GNN_TRY(read_at(zip, offset, head, sizeof head, err));
    if (memcmp(head, "PK\1\2", 4) != 0)
        return damaged(zip, "an entry of its directory has no signature", err);
    const uint64_t name_bytes = number(head + 28, 2), extra_bytes = number(head + 30, 2);
    const uint64_t all = ENTRY_BYTES + name_bytes + extra_bytes + number(head + 32, 2);
    if (all > zip->directory_bytes - zip->at)
        return damaged(zip, "an entry is outside its directory", err);
    *out = (struct gnn_zip_entry){.flags = (uint16_t)number(head + 8, 2),
                                  .method = (uint16_t)number(head + 10, 2),
                                  .crc = (uint32_t)number(head + 16, 4),
                                  .packed_bytes = number(head + 20, 4),
                                  .bytes = number(head + 24, 4),
                                  .header_offset = number(head + 42, 4)};
    GNN_TRY(read_at(zip, offset + ENTRY_BYTES, out->name, gnn_min_u64(name_bytes, GNN_ZIP_NAME - 1), err));
    GNN_TRY(read_at(zip, offset + ENTRY_BYTES + name_bytes, extra, extra_bytes, err));
    zip->at += all;
    return take_zip64(zip, extra, extra_bytes, out, err);
}

enum gnn_status gnn_zip_find(struct gnn_zip *zip, const char *name, struct gnn_zip_entry *out, bool *found,
                             struct gnn_err *err)
{
    bool more = true;
    *found = false;
    zip->at = 0;
    while (!*found) {
        GNN_TRY(gnn_zip_next(zip, out, &more, err));
        if (!more)
            return GNN_OK;
        *found = strcmp(out->name, name) == 0;
    }
    return GNN_OK;
}

/* ---- a member ---- */

static enum gnn_status check_method(const struct gnn_zip *zip, const struct gnn_zip_entry *e, struct gnn_err *err)
{
    if ((e->flags & FLAG_ENCRYPTED) != 0)
        return gnn_fail(err, GNN_EFORMAT, "%s: %s is encrypted: unpack the archive with `unzip %s` and its password",
                        zip->path, e->name, zip->path);
    if (e->method != METHOD_STORED && e->method != METHOD_DEFLATED)
        return gnn_fail(
            err, GNN_EFORMAT,
            "%s: %s is compressed by method %u, expected 0 (stored) or 8 (deflated): unpack it with `python3 "
            "-m zipfile -e %s DIR`, then use --from DIR",
            zip->path, e->name, e->method, zip->path);
    if (e->method == METHOD_STORED && e->bytes != e->packed_bytes)
        return damaged(zip, "a stored member has two sizes", err);
    if (e->method == METHOD_DEFLATED && e->bytes > gnn_mul_bytes(e->packed_bytes, DEFLATE_RATIO))
        return damaged(zip, "a member cannot unpack to its size", err);
    return GNN_OK;
}

static enum gnn_status start_member(struct gnn_zip_member *m, struct gnn_err *err)
{
    unsigned char head[LOCAL_BYTES];
    GNN_TRY(check_method(m->zip, &m->entry, err));
    GNN_TRY(read_at(m->zip, m->entry.header_offset, head, sizeof head, err));
    if (memcmp(head, "PK\3\4", 4) != 0)
        return damaged(m->zip, "a member has no header", err);
    m->data_offset = m->entry.header_offset + LOCAL_BYTES + number(head + 26, 2) + number(head + 28, 2);
    if (m->data_offset > m->zip->file_bytes || m->entry.packed_bytes > m->zip->file_bytes - m->data_offset)
        return damaged(m->zip, "a member is outside the file", err);
    m->sequential = true;
    if (m->entry.method == METHOD_DEFLATED && inflateInit2(&m->inflater, -MAX_WBITS) != Z_OK)
        return gnn_fail(err, GNN_ENOMEM, "to inflate %s", m->zip->path);
    return GNN_OK;
}

enum gnn_status gnn_zip_member_open(struct gnn_zip *zip, const struct gnn_zip_entry *entry, struct gnn_zip_member **out,
                                    struct gnn_err *err)
{
    struct gnn_zip_member *m;
    GNN_NEW(m, 1, err, "reader of %s", zip->path);
    m->zip = zip;
    m->entry = *entry;
    const enum gnn_status status = start_member(m, err);
    return GNN_OPENED(status, m, out, gnn_zip_member_close);
}

void gnn_zip_member_close(struct gnn_zip_member *member)
{
    if (member == NULL)
        return;
    (void)inflateEnd(&member->inflater); /* an error that is ignored: of a stored member it was never begun */
    free(member);
}

static enum gnn_status read_stored(struct gnn_zip_member *m, void *dst, uint64_t bytes, struct gnn_err *err)
{
    GNN_TRY(read_at(m->zip, m->data_offset + m->offset, dst, bytes, err));
    m->packed_at = m->offset + bytes;
    return GNN_OK;
}

/* Gives the inflater its next input, unless it still has some or has had all. */
static enum gnn_status refill(struct gnn_zip_member *m, struct gnn_err *err)
{
    const uint64_t step = gnn_min_u64(m->entry.packed_bytes - m->packed_at, WINDOW);
    if (m->inflater.avail_in > 0 || step == 0)
        return GNN_OK;
    GNN_TRY(read_at(m->zip, m->data_offset + m->packed_at, m->window, step, err));
    m->packed_at += step;
    m->inflater.next_in = m->window;
    m->inflater.avail_in = (uInt)step;
    return GNN_OK;
}

/* Inflates exactly `bytes` bytes: the directory states that there are as many. */
static enum gnn_status read_deflated(struct gnn_zip_member *m, void *dst, uint64_t bytes, struct gnn_err *err)
{
    z_stream *const z = &m->inflater;
    for (uint64_t done = 0; done < bytes;) {
        GNN_TRY(refill(m, err));
        const uInt room = (uInt)gnn_min_u64(bytes - done, 1u << 30);
        z->next_out = (unsigned char *)dst + done;
        z->avail_out = room;
        const int code = inflate(z, Z_NO_FLUSH);
        done += room - z->avail_out;
        if (code == Z_BUF_ERROR && z->avail_in == 0)
            return damaged(m->zip, "a member ends too early", err);
        if ((code != Z_OK && code != Z_STREAM_END) || (code == Z_STREAM_END && done < bytes))
            return damaged(m->zip, "a member cannot be inflated", err);
    }
    return GNN_OK;
}

enum gnn_status gnn_zip_member_read(struct gnn_zip_member *m, void *dst, uint64_t bytes, uint64_t *got,
                                    struct gnn_err *err)
{
    assert(m->offset <= m->entry.bytes);
    *got = gnn_min_u64(bytes, m->entry.bytes - m->offset);
    if (*got == 0)
        return GNN_OK;
    GNN_TRY(m->entry.method == METHOD_STORED ? read_stored(m, dst, *got, err) : read_deflated(m, dst, *got, err));
    for (uint64_t done = 0; done < *got;) {
        const uInt step = (uInt)gnn_min_u64(*got - done, 1u << 30);
        m->crc = (uint32_t)crc32(m->crc, (unsigned char *)dst + done, step);
        done += step;
    }
    m->offset += *got;
    if (m->sequential && m->offset == m->entry.bytes && m->crc != m->entry.crc)
        return gnn_fail(err, GNN_EFORMAT,
                        "%s: %s: its checksum is %08" PRIx32 ", the archive states %08" PRIx32
                        ": the archive is damaged; download or copy it again",
                        m->zip->path, m->entry.name, m->crc, m->entry.crc);
    return GNN_OK;
}

enum gnn_status gnn_zip_member_seek(struct gnn_zip_member *m, uint64_t offset, struct gnn_err *err)
{
    unsigned char skipped[4096];
    assert(offset <= m->entry.bytes);
    if (m->entry.method == METHOD_STORED) {
        m->sequential = m->sequential && offset == m->offset;
        m->offset = offset;
        return GNN_OK;
    }
    if (offset < m->offset) {
        if (inflateReset(&m->inflater) != Z_OK)
            return damaged(m->zip, "a member cannot be read again", err);
        m->inflater.avail_in = 0;
        m->offset = m->packed_at = m->crc = 0;
    }
    while (m->offset < offset) {
        uint64_t got = 0;
        GNN_TRY(gnn_zip_member_read(m, skipped, gnn_min_u64(offset - m->offset, sizeof skipped), &got, err));
        assert(got > 0);
    }
    return GNN_OK;
}

bool gnn_zip_member_stored(const struct gnn_zip_member *member)
{
    return member->entry.method == METHOD_STORED;
}

uint64_t gnn_zip_member_bytes(const struct gnn_zip_member *member)
{
    return member->entry.bytes;
}

uint64_t gnn_zip_member_offset(const struct gnn_zip_member *member)
{
    return member->offset;
}

uint64_t gnn_zip_member_packed(const struct gnn_zip_member *member)
{
    return member->packed_at;
}
