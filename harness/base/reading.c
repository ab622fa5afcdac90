/* SPDX-License-Identifier: MIT */
#include "harness/base/reading.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Every byte 0xff is GNN_UNKNOWN in each integer of a reading. */
_Static_assert(GNN_UNKNOWN == UINT64_MAX, "all bits set");
_Static_assert(sizeof(struct gnn_group_reading) % sizeof(uint64_t) == 0, "integers alone");
_Static_assert(sizeof(struct gnn_host_reading) % sizeof(uint64_t) == 0, "integers, and the GPU's doubles");

void gnn_group_reading_unknown(struct gnn_group_reading *out)
{
    memset(out, 0xff, sizeof *out);
    assert(out->psi_io.full_us == GNN_UNKNOWN);
}

void gnn_host_reading_unknown(struct gnn_host_reading *out)
{
    memset(out, 0xff, sizeof *out);
    assert(out->gpu_memory_bytes == GNN_UNKNOWN);
    out->gpu_busy_pct = out->gpu_power_w = out->gpu_rx_bytes_per_s = out->gpu_tx_bytes_per_s = NAN;
}

bool gnn_parse_psi(const char *text, struct gnn_psi *out)
{
    struct gnn_psi psi = {.some_us = GNN_UNKNOWN, .full_us = GNN_UNKNOWN};
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
