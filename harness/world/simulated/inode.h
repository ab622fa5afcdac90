/* SPDX-License-Identifier: MIT */
/* One file of the simulated world: where its bytes come from and where they lie on the device.
 *
 *   host     a file of this machine, mapped read-only: prepared datasets run in place. It must not shrink meanwhile.
 *   content  a function of the offset (content.h)
 *   written  in the world: chunks of host memory where bytes were written, zeros elsewhere; a file of more than 256 MiB
 *            has the rest in a nameless file of the host's TMPDIR, mapped, so that what a run prepares at scale 1 need
 *            not fit the host's memory. Of feature memory no bytes exist, so what is written from it takes room on the
 *            device, counts towards the size, and reads as zeros.
 *
 * Counted: its name and every handle hold it. Takes no virtual time. */
#ifndef GNN_SIM_INODE_H
#define GNN_SIM_INODE_H

#include "harness/world/simulated/internal.h"

#include <assert.h>

enum sim_source { SIM_SOURCE_HOST, SIM_SOURCE_CONTENT, SIM_SOURCE_WRITTEN };

/* Device addresses: files start at multiples of the first, a file that grows has the second to itself. */
static const uint64_t sim_extent_align_bytes = UINT64_C(1) << 20;
static const uint64_t sim_written_bytes_max = UINT64_C(1) << 40;

struct sim_chunk {
    unsigned char *bytes; /* NULL: zeros */
    bool mapped;          /* of spill_fd */
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
    uint64_t plain_chunks;            /* of them in plain memory */
    int spill_fd;                     /* of the others; -1: there are none */
    const struct gnn_file *locked_by; /* the handle that holds the file's lock; NULL: none */
};

/* With one holder. GNN_EPERM or GNN_EIO when the host's file cannot be read: path, reason. */
GNN_MUST_CHECK enum gnn_status sim_inode_host(const char *path, struct sim_inode **out, struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status sim_inode_content(const struct gnn_content *content, struct sim_inode **out,
                                                 struct gnn_err *err);
GNN_MUST_CHECK enum gnn_status sim_inode_written(struct sim_inode **out, struct gnn_err *err);

/* The last holder frees it; accepts NULL. */
void sim_inode_release(struct simulated *s, struct sim_inode *inode);

/* Returns the file's number in the page cache. It was opened without DIRECT at least once. */
static inline uint32_t sim_inode_cache_number(const struct sim_inode *inode)
{
    assert(inode->has_cache_number);
    return inode->cache_number;
}

/* Returns where byte `offset` of the file lies on the device: files get disjoint aligned extents. */
static inline uint64_t sim_inode_device_offset(const struct sim_inode *inode, uint64_t offset_bytes)
{
    return inode->device_offset_bytes + offset_bytes;
}

/* dst (len_bytes), all of it inside the file. */
void sim_inode_fetch(const struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes, void *dst);

/* dst (len_bytes) has the wanted IDs of the range at their places, other bytes stay. false, and nothing was done, where
 * the file's content cannot give single IDs of that width, or the range cuts one: fetch all of it then. */
GNN_MUST_CHECK bool sim_inode_fetch_ids(const struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes,
                                        const struct gnn_ids_wanted *wanted, void *dst);

/* Written files: src NULL stands for bytes that are not kept. Grows the file. false: out of host memory. */
GNN_MUST_CHECK bool sim_inode_store(struct sim_inode *inode, uint64_t offset_bytes, uint64_t len_bytes,
                                    const void *src);
/* Written files: empty again. */
void sim_inode_truncate(struct simulated *s, struct sim_inode *inode);

#endif
