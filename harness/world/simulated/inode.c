/* SPDX-License-Identifier: MIT */
#include "harness/world/simulated/inode.h"

#include "harness/base/id_width.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t chunk_bytes = UINT64_C(1) << 20;
enum { PLAIN_CHUNKS_MAX = 256 };

/* ---- open, close ---- */

static enum gnn_status inode_new(enum sim_source source, uint64_t size_bytes, struct sim_inode **out,
                                 struct gnn_err *err)
{
    GNN_NEW(*out, 1, err, "a simulated file's inode: %zu bytes", sizeof **out);
    **out = (struct sim_inode){.source = source, .holders = 1, .size_bytes = size_bytes, .spill_fd = -1};
    return GNN_OK;
}

/* The mapping outlives the descriptor. */
static enum gnn_status map_host(int fd, const char *path, struct sim_inode **out, struct gnn_err *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0)
        return gnn_fail(err, GNN_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return gnn_fail(err, GNN_ENOTSUP, "%s: not a regular file; the simulated world reads no others", path);
    struct sim_inode *inode;
    GNN_TRY(inode_new(SIM_SOURCE_HOST, (uint64_t)info.st_size, &inode, err));
    if (inode->size_bytes > 0) {
        void *host = mmap(NULL, inode->size_bytes, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
        if (host == MAP_FAILED) {
            const int error = errno;
            free(inode);
            return gnn_fail(err, GNN_EIO, "%s: cannot be mapped: %s", path, strerror(error));
        }
        inode->host = host;
    }
    *out = inode;
    return GNN_OK;
}

enum gnn_status sim_inode_host(const char *path, struct sim_inode **out, struct gnn_err *err)
{
    *out = NULL;
    int fd;
    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return gnn_fail(err, errno == EACCES || errno == EPERM ? GNN_EPERM : gnn_errno_status(errno, GNN_EIO),
                        "%s: cannot be opened for reading: %s", path, strerror(errno));
    const enum gnn_status status = map_host(fd, path, out, err);
    (void)close(fd);
    return status;
}

enum gnn_status sim_inode_content(const struct gnn_content *content, struct sim_inode **out, struct gnn_err *err)
{
    GNN_TRY(inode_new(SIM_SOURCE_CONTENT, content->size_bytes, out, err));
    (*out)->content = content;
    return GNN_OK;
}

enum gnn_status sim_inode_written(struct sim_inode **out, struct gnn_err *err)
{
    return inode_new(SIM_SOURCE_WRITTEN, 0, out, err);
}

/* The chunk is zeros again. */
static void free_chunk(struct sim_inode *inode, struct sim_chunk *chunk)
{
    if (chunk->mapped) {
        (void)munmap(chunk->bytes, chunk_bytes);
    } else if (chunk->bytes != NULL) {
        free(chunk->bytes);
        inode->plain_chunks--;
    }
    *chunk = (struct sim_chunk){.bytes = NULL};
}

static void free_chunks(struct sim_inode *inode)
{
    for (uint64_t i = 0; i < inode->chunk_count; i++)
        free_chunk(inode, &inode->chunks[i]);
    free(inode->chunks);
    inode->chunks = NULL;
    inode->chunk_count = 0;
    if (inode->spill_fd >= 0)
        (void)close(inode->spill_fd);
    inode->spill_fd = -1;
}

void sim_inode_release(struct simulated *s, struct sim_inode *inode)
{
    if (inode == NULL)
        return;
    assert(inode->holders > 0);
    if (--inode->holders > 0)
        return;
    if (inode->has_cache_number)
        sim_page_cache_forget(s->cache, inode->cache_number);
    if (inode->host != NULL)
        (void)munmap(inode->host, inode->size_bytes);
    free_chunks(inode);
    free(inode);
}

/* ---- bytes ---- */

/* Returns the part of [offset, offset + len) that lies in the chunk of offset. */
static uint64_t part_in_chunk(uint64_t offset_bytes, uint64_t len_bytes)
{
    const uint64_t left_bytes = chunk_bytes - offset_bytes % chunk_bytes;
    return gnn_min_u64(len_bytes, left_bytes);
}

static void fetch_written(const struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes, unsigned char *dst)
{
    while (len_bytes > 0) {
        const uint64_t k = offset_bytes / chunk_bytes, part = part_in_chunk(offset_bytes, len_bytes);
        const unsigned char *const chunk = k < inode->chunk_count ? inode->chunks[k].bytes : NULL;
        if (chunk != NULL)
            (void)memcpy(dst, chunk + offset_bytes % chunk_bytes, part);
        else
            (void)memset(dst, 0, part);
        dst += part;
        offset_bytes += part;
        len_bytes -= part;
    }
}

void sim_inode_fetch(const struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes, void *dst)
{
    assert(offset_bytes <= inode->size_bytes);
    assert(len_bytes <= inode->size_bytes - offset_bytes);
    if (len_bytes == 0)
        return;
    switch (inode->source) {
    case SIM_SOURCE_HOST:
        (void)memcpy(dst, (const unsigned char *)inode->host + offset_bytes, len_bytes);
        return;
    case SIM_SOURCE_CONTENT:
        if (inode->content->read != NULL)
            inode->content->read(inode->content, offset_bytes, len_bytes, dst);
        else
            (void)memset(dst, 0, len_bytes);
        return;
    case SIM_SOURCE_WRITTEN:
        fetch_written(inode, offset_bytes, len_bytes, dst);
        return;
    }
}

bool sim_inode_fetch_ids(const struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes,
                         const struct gnn_ids_wanted *wanted, void *dst)
{
    enum { STEP = 64 };
    const struct gnn_content *const content = inode->content;
    const uint64_t id_bytes = wanted->id_bytes;
    if (content == NULL || content->gather_ids == NULL || content->id_bytes != id_bytes ||
        (offset_bytes | len_bytes) % id_bytes != 0)
        return false;
    assert(offset_bytes <= inode->size_bytes);
    assert(len_bytes <= inode->size_bytes - offset_bytes);
    const uint64_t begin = offset_bytes / id_bytes, end = begin + len_bytes / id_bytes;
    uint64_t i = 0;
    while (i < wanted->count && wanted->index[i] < begin)
        i++;
    while (i < wanted->count && wanted->index[i] < end) {
        gnn_node ids[STEP];
        uint64_t count = 1;
        while (count < STEP && i + count < wanted->count && wanted->index[i + count] < end)
            count++;
        content->gather_ids(content, wanted->index + i, count, ids);
        for (uint64_t k = 0; k < count; k++)
            gnn_ids_store(ids + k, 1, wanted->id_bytes,
                          (unsigned char *)dst + (wanted->index[i + k] - begin) * id_bytes);
        i += count;
    }
    return true;
}

/* ---- writing ---- */

static bool grow_chunks(struct sim_inode *inode, uint64_t needed)
{
    if (needed <= inode->chunk_count)
        return true;
    uint64_t count = 2 * inode->chunk_count;
    count = gnn_max_u64(count, needed);
    struct sim_chunk *const chunks = realloc(inode->chunks, count * sizeof *chunks);
    if (chunks == NULL)
        return false;
    (void)memset(chunks + inode->chunk_count, 0, (count - inode->chunk_count) * sizeof *chunks);
    inode->chunks = chunks;
    inode->chunk_count = count;
    return true;
}

/* Opens the file that holds what plain memory should not; false: the host has no room for one. */
static bool open_spill(struct sim_inode *inode)
{
    const char *const dir = getenv("TMPDIR");
    if (inode->spill_fd < 0)
        inode->spill_fd = open(dir != NULL ? dir : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return inode->spill_fd >= 0;
}

/* Maps zeros for chunk k. The room is taken first: a full disk must not be a signal later. */
static bool map_chunk(struct sim_inode *inode, uint64_t k)
{
    const off_t at = (off_t)(k * chunk_bytes);
    if (!open_spill(inode) || posix_fallocate(inode->spill_fd, at, (off_t)chunk_bytes) != 0)
        return false;
    void *const bytes = mmap(NULL, chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, inode->spill_fd, at);
    if (bytes == MAP_FAILED)
        return false;
    (void)memset(bytes, 0, chunk_bytes); /* it may have been in use before */
    inode->chunks[k] = (struct sim_chunk){.bytes = bytes, .mapped = true};
    return true;
}

static bool new_chunk(struct sim_inode *inode, uint64_t k)
{
    if (inode->plain_chunks >= PLAIN_CHUNKS_MAX && map_chunk(inode, k))
        return true;
    inode->chunks[k].bytes = calloc(1, chunk_bytes);
    inode->plain_chunks += inode->chunks[k].bytes != NULL;
    return inode->chunks[k].bytes != NULL;
}

static bool store_part(struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes, const unsigned char *src)
{
    const uint64_t k = offset_bytes / chunk_bytes;
    if (!grow_chunks(inode, k + 1))
        return false;
    if (inode->chunks[k].bytes == NULL && !new_chunk(inode, k))
        return false;
    (void)memcpy(inode->chunks[k].bytes + offset_bytes % chunk_bytes, src, len_bytes);
    return true;
}

/* Drops the bytes of a range: it is overwritten by feature bytes, which are not kept. */
static void drop_part(struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes)
{
    const uint64_t k = offset_bytes / chunk_bytes;
    if (k >= inode->chunk_count || inode->chunks[k].bytes == NULL)
        return;
    if (len_bytes == chunk_bytes)
        free_chunk(inode, &inode->chunks[k]);
    else
        (void)memset(inode->chunks[k].bytes + offset_bytes % chunk_bytes, 0, len_bytes);
}

bool sim_inode_store(struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes, const void *src)
{
    assert(inode->source == SIM_SOURCE_WRITTEN);
    assert(offset_bytes <= sim_written_bytes_max);
    assert(len_bytes <= sim_written_bytes_max - offset_bytes);
    for (uint64_t done = 0; done < len_bytes;) {
        const uint64_t at = offset_bytes + done, part = part_in_chunk(at, len_bytes - done);
        if (src == NULL)
            drop_part(inode, at, part);
        else if (!store_part(inode, at, part, (const unsigned char *)src + done))
            return false;
        done += part;
    }
    const uint64_t end_bytes = offset_bytes + len_bytes;
    if (len_bytes > 0 && end_bytes > inode->size_bytes)
        inode->size_bytes = end_bytes;
    return true;
}

void sim_inode_truncate(struct simulated *s, struct sim_inode *inode)
{
    assert(inode->source == SIM_SOURCE_WRITTEN);
    if (inode->has_cache_number)
        sim_page_cache_forget(s->cache, inode->cache_number);
    free_chunks(inode);
    inode->size_bytes = 0;
}
