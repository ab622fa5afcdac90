/* SPDX-License-Identifier: MIT */
#include "systems/ringsampler/fetch.h"

#include "systems/ringsampler/ringsampler.h"

#include <assert.h>

void rs_fetch_init(struct rs_fetch *fetch, const struct rs_fetch_ops *ops, struct rs_thread *thread)
{
    struct gnn_file_info info;
    assert(thread->file != NULL);
    gnn_file_info(thread->s->env->world, thread->file, &info);
    fetch->ops = ops;
    fetch->thread = thread;
    fetch->file_bytes = info.size_bytes;
    fetch->id_bytes = thread->s->env->dataset->id_bytes;
    fetch->align_bytes = gnn_max_u32(info.offset_align_bytes, info.mem_align_bytes);
}

enum gnn_status rs_fetch_open_ring(struct rs_fetch *fetch, uint32_t depth, void *buffer, uint64_t buffer_bytes,
                                   struct gnn_err *err)
{
    struct rs_thread *const thread = fetch->thread;
    const struct ringsampler_config *const c = thread->s->config;
    const struct gnn_ring_reads_config config = {
        .batch_max = depth,
        .short_reads = GNN_SHORT_FAILS,
        .entry_name = "edge",
        .entry_bytes = fetch->id_bytes,
        .ring = {.engine = thread->s->env->io_engine,
                 .depth = depth,
                 .sqpoll = c->sqpoll,
                 .iopoll = c->iopoll,
                 .spin = c->polling,
                 .register_files = c->register_file ? &thread->file : NULL,
                 .register_file_count = c->register_file,
                 .register_buffer = c->register_buffer ? buffer : NULL,
                 .register_buffer_bytes = c->register_buffer ? buffer_bytes : 0}};
    return gnn_ring_reads_open(thread->s->env->world, &config, &fetch->reads, err);
}

struct gnn_read rs_fetch_read(const struct rs_fetch *fetch, const struct rs_extent *extent, uint32_t unit_bytes,
                              void *dst, uint64_t tag)
{
    const uint64_t offset_bytes = extent->first_unit * unit_bytes, len_bytes = extent->units * unit_bytes;
    assert(len_bytes <= UINT32_MAX);
    assert(offset_bytes < fetch->file_bytes);
    return (struct gnn_read){.file = fetch->thread->file,
                             .offset_bytes = offset_bytes,
                             .dst = dst,
                             .len_bytes = (uint32_t)len_bytes,
                             .need_bytes = (uint32_t)gnn_min_u64(len_bytes, fetch->file_bytes - offset_bytes),
                             .tag = tag};
}

enum gnn_status rs_fetch_submit(struct rs_fetch *fetch, struct gnn_read *reads, uint32_t count, struct gnn_err *err)
{
    if (count == 0)
        return GNN_OK;
    fetch->counts.submits++;
    return gnn_ring_reads_submit(&fetch->reads, reads, count, err);
}

void rs_fetch_add_counts(const struct rs_fetch *fetch, struct rs_fetch_counts *sum)
{
    const struct gnn_ring_counters *const ring = &fetch->reads.counters;
    sum->ring.requested_ios += ring->requested_ios;
    sum->ring.requested_bytes += ring->requested_bytes;
    sum->ring.completed += ring->completed;
    sum->ring.in_flight_peak = gnn_max_u64(sum->ring.in_flight_peak, ring->in_flight_peak);
    sum->submits += fetch->counts.submits;
    sum->cache_hits += fetch->counts.cache_hits;
    sum->cache_misses += fetch->counts.cache_misses;
    sum->sweeps += fetch->counts.sweeps;
}
