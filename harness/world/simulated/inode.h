/* SPDX-License-Identifier: MIT */
/* One file of the simulated world: where its bytes come from, and its place on the device.
 *
 *   Host      Mapped, read-only: prepared datasets of this machine are used in place. The file must not shrink.
 *   Content   A function of the offset (content.h).
 *   Written   Written in the world: chunks of host memory where bytes were written, zeros elsewhere. A file of more
 *             than 256 MiB keeps the rest in a nameless file of the host's TMPDIR, mapped. So files that a run prepares
 *             at scale 1 need not fit the host's memory. A write from feature memory has no bytes. It takes room on the
 *             device, counts towards the size, and reads as zeros.
 *
 * Files are reference-counted: the name and every handle hold the file. Calls take no virtual time. */
#ifndef GNN_SIM_INODE_H
#define GNN_SIM_INODE_H

#include "harness/world/simulated/internal.h"

#include <assert.h>

enum sim_source { SIM_SOURCE_HOST, SIM_SOURCE_CONTENT, SIM_SOURCE_WRITTEN };

/* Device addresses: files start at multiples of the first constant. A file that grows has an extent of the second. */
static const uint64_t sim_extent_align_bytes = UINT64_C(1) << 20;
static const uint64_t sim_written_bytes_max = UINT64_C(1) << 40;

struct sim_chunk {
    unsigned char *bytes; /* NULL: zeros */
    bool mapped;          /* a mapping of spill_fd */
};

struct sim_inode {
    enum sim_source source;
    uint32_t holders;
    uint64_t size_bytes;
    uint64_t device_offset_bytes;
    bool has_cache_number; /* opened without DIRECT at least once */
    uint32_t cache_number;
    const struct gnn_content *content;
    void *host;               /* mapping, read-only; NULL when empty */
    struct sim_chunk *chunks; /* (chunk_count) */
    uint64_t chunk_count;
    uint64_t plain_chunks;            /* chunks in plain memory */
    int spill_fd;                     /* file of the other chunks; -1: there are none */
    const struct gnn_file *locked_by; /* the handle that holds the file's lock; NULL: none */
};

/* Open a file with one holder. sim_inode_host returns GNN_EPERM, GNN_EIO or GNN_ENOTSUP with path and reason if the
 * host's file cannot be read. */
GNN_MUST_CHECK enum gnn_status sim_inode_host(const char *path, struct sim_inode **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status sim_inode_content(const struct gnn_content *content, struct sim_inode **out,
                                                 struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status sim_inode_written(struct sim_inode **out, struct gnn_err *err);

/* Releases one hold. The last holder frees the file. Accepts NULL. */
void sim_inode_release(struct simulated *s, struct sim_inode *inode);

/* Returns the file's number in the page cache. The file must have been opened without DIRECT at least once. */
static inline uint32_t sim_inode_cache_number(const struct sim_inode *inode)
{
    assert(inode->has_cache_number);
    return inode->cache_number;
}

/* Returns the device address of byte `offset` of the file. Files have disjoint aligned extents. */
static inline uint64_t sim_inode_device_offset(const struct sim_inode *inode, uint64_t offset_bytes)
{
    return inode->device_offset_bytes + offset_bytes;
}

/* Copies the bytes of the range to dst (len_bytes). The range is inside the file. */
void sim_inode_fetch(const struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes, void *dst);

/* Writes the wanted IDs of the range to their places in dst (len_bytes), and leaves other bytes unchanged. Returns
 * false without any effect if the content cannot give single IDs of that width, or if the range cuts one. The caller
 * then fetches the whole range. */
GNN_MUST_CHECK bool sim_inode_fetch_ids(const struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes,
                                        const struct gnn_ids_wanted *wanted, void *dst);

/* Stores bytes of a written file, which may grow. With src NULL no bytes are kept. Returns false if host memory is
 * exhausted. */
GNN_MUST_CHECK bool sim_inode_store(struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes,
                                    const void *src);
/* Empties a written file. */
void sim_inode_truncate(struct simulated *s, struct sim_inode *inode);

#endif
