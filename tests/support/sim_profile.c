/* SPDX-License-Identifier: MIT */
#include "tests/support/sim_profile.h"

#include <string.h>

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void fill_storage(struct gnn_profile_storage *out)
{
    static const uint64_t sizes_bytes[] = {512, 4096, 65536, 1048576};
    static const uint32_t depths[] = {1, 8, 32};
    *out = (struct gnn_profile_storage){.devices = 1,
                                        .stripe_bytes = 65536,
                                        .sector_bytes = 512,
                                        .depth_max = 32,
                                        .size_count = sizeof sizes_bytes / sizeof *sizes_bytes,
                                        .depth_count = sizeof depths / sizeof *depths,
                                        .write_latency_ns = 20000,
                                        .write_bytes_per_s = 500000000,
                                        .write_iops = 50000,
                                        .readahead_bytes = 131072};
    memcpy(out->size_bytes, sizes_bytes, sizeof sizes_bytes);
    memcpy(out->depth, depths, sizeof depths);
    for (uint32_t s = 0; s < out->size_count; s++)
        for (uint32_t d = 0; d < out->depth_count; d++)
            out->read_ps[s][d] = max_u64(max_u64(UINT64_C(100000000) / depths[d], 10000000), sizes_bytes[s] * 1000);
}

static void fill_cpu(struct gnn_profile_cpu *out)
{
    *out = (struct gnn_profile_cpu){.cores = 4,
                                    .gather_element_ns = 10,
                                    .gather_row_ns = 50,
                                    .fault_minor_ns = 500,
                                    .fault_major_ns = 2000,
                                    .readahead_page_ns = 100,
                                    .syscall_ns = 1000,
                                    .submit_ns = 500,
                                    .complete_ns = 500,
                                    .buffered_page_ns = 1000,
                                    .lock_ns = 20,
                                    .wake_ns = 1000,
                                    .wake_latency_ns = 5000,
                                    .thread_start_ns = 10000};
    for (int kind = 0; kind < GNN_WORK_KINDS; kind++)
        out->work_ps[kind] = 1000;
}

void sim_profile_fill(struct gnn_profile *out)
{
    *out = (struct gnn_profile){.name = "round",
                                .title = "a machine of round figures",
                                .digest = "0",
                                .kernel = GNN_PROFILE_KERNEL,
                                .memory_bytes = UINT64_C(64) << 20,
                                .process_bytes = UINT64_C(1) << 20};
    fill_storage(&out->storage);
    fill_cpu(&out->cpu);
    out->host = (struct gnn_profile_compute){.present = true,
                                             .gemm_flops_per_s = UINT64_C(10000000000),
                                             .bytes_per_s = UINT64_C(10000000000),
                                             .bytes_per_s_shared = UINT64_C(20000000000),
                                             .gather_bytes_per_s = UINT64_C(5000000000),
                                             .launch_ns = 1000};
    out->gpu = (struct gnn_profile_compute){.present = true,
                                            .gemm_flops_per_s = UINT64_C(1000000000000),
                                            .bytes_per_s = UINT64_C(100000000000),
                                            .bytes_per_s_shared = UINT64_C(100000000000),
                                            .gather_bytes_per_s = UINT64_C(50000000000),
                                            .launch_ns = 10000,
                                            .memory_bytes = UINT64_C(1) << 30};
    out->bus = (struct gnn_profile_bus){
        .pinned_bytes_per_s = UINT64_C(10000000000), .pageable_bytes_per_s = UINT64_C(5000000000), .latency_ns = 10000};
}
