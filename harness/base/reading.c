#include "harness/base/reading.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct gnn_psi psi_unknown = {.some_us = GNN_UNKNOWN, .full_us = GNN_UNKNOWN};

void gnn_group_reading_unknown(struct gnn_group_reading *out)
{
    *out = (struct gnn_group_reading){
        .limit_bytes = GNN_UNKNOWN,
        .swap_limit_bytes = GNN_UNKNOWN,
        .current_bytes = GNN_UNKNOWN,
        .peak_bytes = GNN_UNKNOWN,
        .oom_kills = GNN_UNKNOWN,
        .anon_bytes = GNN_UNKNOWN,
        .file_bytes = GNN_UNKNOWN,
        .shmem_bytes = GNN_UNKNOWN,
        .swap_bytes = GNN_UNKNOWN,
        .refaults = GNN_UNKNOWN,
        .major_faults = GNN_UNKNOWN,
        .read_bytes = GNN_UNKNOWN,
        .read_ios = GNN_UNKNOWN,
        .write_bytes = GNN_UNKNOWN,
        .write_ios = GNN_UNKNOWN,
        .psi_memory = psi_unknown,
        .psi_io = psi_unknown,
    };
}

void gnn_host_reading_unknown(struct gnn_host_reading *out)
{
    *out = (struct gnn_host_reading){
        .now_ns = GNN_UNKNOWN,
        .cpu_total_ns = GNN_UNKNOWN,
        .cpu_idle_ns = GNN_UNKNOWN,
        .cpu_iowait_ns = GNN_UNKNOWN,
        .worker_cpu_ns = GNN_UNKNOWN,
        .worker_rss_bytes = GNN_UNKNOWN,
        .worker_major_faults = GNN_UNKNOWN,
        .worker_threads = GNN_UNKNOWN,
        .psi_cpu = psi_unknown,
        .psi_memory = psi_unknown,
        .psi_io = psi_unknown,
        .disk_read_bytes = GNN_UNKNOWN,
        .disk_read_ios = GNN_UNKNOWN,
        .disk_write_bytes = GNN_UNKNOWN,
        .disk_write_ios = GNN_UNKNOWN,
        .disk_busy_ns = GNN_UNKNOWN,
        .gpu_busy_pct = NAN,
        .gpu_memory_bytes = GNN_UNKNOWN,
    };
}

bool gnn_parse_psi(const char *text, struct gnn_psi *out)
{
    struct gnn_psi psi = psi_unknown;
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        char kind[8];
        uint64_t total_us;
        if (sscanf(text, "%7s avg10=%*f avg60=%*f avg300=%*f total=%" SCNu64, kind, &total_us) != 2)
            return false;
        if (strcmp(kind, "some") == 0)
            psi.some_us = total_us;
        else if (strcmp(kind, "full") == 0)
            psi.full_us = total_us;
        else
            return false;
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    if (psi.some_us == GNN_UNKNOWN)
        return false;
    *out = psi;
    return true;
}
