/* SPDX-License-Identifier: MIT */
/* The name of a profile, and the digest of the files that it was read from. */
#include "harness/world/profile_draft.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum gnn_status gnn_profile_set_name(struct parse *p)
{
    const char *const slash = strrchr(p->path, '/');
    const char *const base = slash != NULL ? slash + 1 : p->path;
    const size_t len = strlen(base);
    const size_t stem = len > 4 && strcmp(base + len - 4, ".ini") == 0 ? len - 4 : len;
    if (stem == 0 || stem >= sizeof p->draft.profile.name)
        return gnn_fail(p->err, GNN_EUSAGE, "%s: a profile's file name has 1 to %d bytes before .ini", p->path,
                        GNN_NAME_MAX - 1);
    memcpy(p->draft.profile.name, base, stem);
    return GNN_OK;
}

void gnn_profile_end_hash(struct parse *p, char digest[40])
{
    const XXH128_hash_t hash = XXH3_128bits_digest(p->hash);
    (void)XXH3_freeState(p->hash);
    (void)snprintf(digest, 40, "%016" PRIx64 "%016" PRIx64, (uint64_t)hash.high64, (uint64_t)hash.low64);
}

enum gnn_status gnn_profile_begin_hash(struct parse *p)
{
    p->hash = XXH3_createState();
    if (p->hash == NULL)
        return gnn_fail(p->err, GNN_ENOMEM, "%s: a hash's state", p->path);
    (void)XXH3_128bits_reset(p->hash);
    return GNN_OK;
}
