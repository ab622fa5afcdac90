/* SPDX-License-Identifier: MIT */
#include "harness/storage/checksum.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

/* struct gnn_checksum is xxHash's state by another name. */
enum gnn_status gnn_checksum_open(struct gnn_checksum **out, struct gnn_err *err)
{
    XXH3_state_t *const state = XXH3_createState();
    if (state == NULL || XXH3_128bits_reset(state) != XXH_OK) /* a reset fails on a NULL state alone */
        return gnn_fail(err, GNN_ENOMEM, "checksum");
    *out = (struct gnn_checksum *)state;
    return GNN_OK;
}

void gnn_checksum_add(struct gnn_checksum *checksum, const void *data, uint64_t bytes)
{
    assert(bytes == 0 || data != NULL);
    const XXH_errorcode code = XXH3_128bits_update((XXH3_state_t *)checksum, data, bytes);
    assert(code == XXH_OK); /* fails on a NULL state alone */
}

static void hash_text(XXH128_hash_t hash, char text[GNN_CHECKSUM_TEXT])
{
    (void)snprintf(text, GNN_CHECKSUM_TEXT, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}

void gnn_checksum_text(const struct gnn_checksum *checksum, char text[GNN_CHECKSUM_TEXT])
{
    hash_text(XXH3_128bits_digest((const XXH3_state_t *)checksum), text);
}

void gnn_checksum_close(struct gnn_checksum *checksum)
{
    (void)XXH3_freeState((XXH3_state_t *)checksum); /* accepts NULL */
}

void gnn_checksum_of(const void *data, uint64_t bytes, char text[GNN_CHECKSUM_TEXT])
{
    hash_text(XXH3_128bits(data, bytes), text);
}
