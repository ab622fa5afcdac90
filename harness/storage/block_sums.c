/* SPDX-License-Identifier: MIT */
#include "harness/storage/block_sums.h"

#include "harness/base/grow.h"

#include <assert.h>
#include <xxhash.h>

_Static_assert(sizeof(XXH64_hash_t) == sizeof(uint64_t), "a checksum is a word");

struct gnn_block_sums {
    XXH3_state_t *state;
    uint64_t in_block; /* bytes of the block that is not complete */
    uint64_t *of;      /* (room) */
    uint32_t count, room;
    bool failed;
};

uint64_t gnn_block_count(uint64_t file_bytes)
{
    return gnn_div_up(file_bytes, GNN_BLOCK_BYTES);
}

uint64_t gnn_block_sum(const void *data, uint64_t bytes)
{
    return XXH3_64bits(data, bytes);
}

enum gnn_status gnn_block_sums_open(struct gnn_block_sums **out, struct gnn_err *err)
{
    struct gnn_block_sums *sums;
    GNN_NEW(sums, 1, err, "checksums of blocks");
    sums->state = XXH3_createState();
    enum gnn_status status = GNN_OK;
    if (sums->state == NULL || XXH3_64bits_reset(sums->state) != XXH_OK) /* a reset fails on a NULL state alone */
        status = gnn_fail(err, GNN_ENOMEM, "checksums of blocks");
    return GNN_OPENED(status, sums, out, gnn_block_sums_close);
}

static void end_block(struct gnn_block_sums *sums)
{
    uint64_t *const of = gnn_grow(sums->of, sums->count, &sums->room, sizeof *of);
    if (of == NULL) {
        sums->failed = true;
        return;
    }
    sums->of = of;
    sums->of[sums->count++] = XXH3_64bits_digest(sums->state);
    sums->in_block = 0;
    (void)XXH3_64bits_reset(sums->state);
}

void gnn_block_sums_add(struct gnn_block_sums *sums, const void *data, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes && !sums->failed;) {
        const uint64_t step = gnn_min_u64(bytes - done, GNN_BLOCK_BYTES - sums->in_block);
        (void)XXH3_64bits_update(sums->state, (const char *)data + done, step); /* fails on a NULL state alone */
        sums->in_block += step;
        done += step;
        if (sums->in_block == GNN_BLOCK_BYTES)
            end_block(sums);
    }
}

enum gnn_status gnn_block_sums_end(struct gnn_block_sums *sums, const uint64_t **of, uint64_t *count,
                                   struct gnn_err *err)
{
    if (sums->in_block > 0 && !sums->failed)
        end_block(sums);
    if (sums->failed)
        return gnn_fail(err, GNN_ENOMEM, "checksums of more than %u blocks", sums->count);
    assert(sums->in_block == 0);
    *of = sums->of;
    *count = sums->count;
    return GNN_OK;
}

void gnn_block_sums_close(struct gnn_block_sums *sums)
{
    if (sums == NULL)
        return;
    (void)XXH3_freeState(sums->state); /* accepts NULL */
    free(sums->of);
    free(sums);
}
