/* SPDX-License-Identifier: MIT */
#include "harness/export/npz_out.h"

#include "harness/base/npy_out.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum {
    PIECE = 4096,       /* numbers */
    LOCAL_BYTES = 30,   /* of a header before a member */
    CENTRAL_BYTES = 46, /* of its entry in the list of members */
    END_BYTES = 22,     /* behind the list */
    VERSION = 20,       /* 2.0: what stored members need */
    DATE = 1 << 5 | 1   /* 1 January 1980: equal arrays make equal archives */
};

/* ---- little-endian fields ---- */

struct fields {
    unsigned char bytes[CENTRAL_BYTES];
    uint32_t used;
};

static void put(struct fields *f, uint32_t value, uint32_t width)
{
    assert(f->used + width <= sizeof f->bytes);
    for (uint32_t i = 0; i < width; i++)
        f->bytes[f->used++] = (unsigned char)(value >> 8 * i);
}

/* The fields that a member's own header and its entry share: version to length of the extra field. */
static void put_member(struct fields *f, const struct gnn_npz_out *npz, uint32_t i)
{
    const uint32_t bytes = npz->members[i].bytes;
    put(f, VERSION, 2);
    put(f, 0, 2); /* flags */
    put(f, 0, 2); /* stored */
    put(f, 0, 2); /* time */
    put(f, DATE, 2);
    put(f, npz->members[i].crc, 4);
    put(f, bytes, 4);
    put(f, bytes, 4);
    put(f, (uint32_t)strlen(npz->members[i].name), 2);
    put(f, 0, 2); /* extra field */
}

static enum gnn_status write_bytes(struct gnn_npz_out *npz, const void *data, uint64_t bytes, struct gnn_err *err)
{
    npz->written_bytes += bytes;
    return gnn_out_write(npz->file, data, bytes, err);
}

static enum gnn_status write_named(struct gnn_npz_out *npz, const struct fields *f, uint32_t i, struct gnn_err *err)
{
    GNN_TRY(write_bytes(npz, f->bytes, f->used, err));
    return write_bytes(npz, npz->members[i].name, strlen(npz->members[i].name), err);
}

/* ---- members ---- */

enum gnn_status gnn_npz_open(struct gnn_output *output, const char *name, struct gnn_npz_out *out, struct gnn_err *err)
{
    *out = (struct gnn_npz_out){.count = 0};
    return gnn_out_open(output, name, 1 << 16, GNN_OUT_EXPORT, &out->file, err);
}

/* Returns the numbers from `first` on, at most PIECE of them, as int64. */
static uint64_t widen(const void *items, bool is_signed, uint64_t first, uint64_t count, int64_t out[PIECE])
{
    const uint64_t some = gnn_min_u64(count - first, PIECE);
    gnn_npy_out_widen((const unsigned char *)items + 4 * first, is_signed, some, out);
    return some;
}

enum gnn_status gnn_npz_add(struct gnn_npz_out *npz, const char *name, const void *items, bool is_signed,
                            uint64_t count, struct gnn_err *err)
{
    const uint32_t i = npz->count;
    const uint64_t bytes = GNN_NPY_OUT_HEADER + count * sizeof(int64_t);
    char header[GNN_NPY_OUT_HEADER];
    int64_t piece[PIECE];
    assert(i < GNN_NPZ_MEMBERS_MAX);
    if (npz->written_bytes + bytes + GNN_NPZ_MEMBERS_MAX * (CENTRAL_BYTES + LOCAL_BYTES + 2 * GNN_NPZ_NAME) >
        UINT32_MAX)
        return gnn_fail(err, GNN_ENOTSUP, "a mini-batch takes more than 4 GiB: lower --batch or --fanout");
    gnn_npy_out_header(&(struct gnn_npy_shape){.descr = "<i8", .rows = count}, header);
    uLong crc = crc32(0, (const Bytef *)header, sizeof header);
    for (uint64_t first = 0, some; first < count; first += some) {
        some = widen(items, is_signed, first, count, piece);
        crc = crc32(crc, (const Bytef *)piece, (uInt)(some * sizeof *piece));
    }
    (void)snprintf(npz->members[i].name, GNN_NPZ_NAME, "%s.npy", name);
    npz->members[i].crc = (uint32_t)crc;
    npz->members[i].bytes = (uint32_t)bytes;
    npz->members[i].offset = (uint32_t)npz->written_bytes;
    npz->count++;
    struct fields local = {.used = 0};
    put(&local, 0x04034b50, 4);
    put_member(&local, npz, i);
    assert(local.used == LOCAL_BYTES);
    GNN_TRY(write_named(npz, &local, i, err));
    GNN_TRY(write_bytes(npz, header, sizeof header, err));
    for (uint64_t first = 0, some; first < count; first += some) {
        some = widen(items, is_signed, first, count, piece);
        GNN_TRY(write_bytes(npz, piece, some * sizeof *piece, err));
    }
    return GNN_OK;
}

static enum gnn_status write_list(struct gnn_npz_out *npz, struct gnn_err *err)
{
    const uint64_t start = npz->written_bytes;
    for (uint32_t i = 0; i < npz->count; i++) {
        struct fields entry = {.used = 0};
        put(&entry, 0x02014b50, 4);
        put(&entry, VERSION, 2); /* made by */
        put_member(&entry, npz, i);
        put(&entry, 0, 2); /* comment */
        put(&entry, 0, 2); /* disk */
        put(&entry, 0, 2); /* attributes */
        put(&entry, 0, 4);
        put(&entry, npz->members[i].offset, 4);
        assert(entry.used == CENTRAL_BYTES);
        GNN_TRY(write_named(npz, &entry, i, err));
    }
    struct fields end = {.used = 0};
    put(&end, 0x06054b50, 4);
    put(&end, 0, 2); /* this disk, and that of the list */
    put(&end, 0, 2);
    put(&end, npz->count, 2);
    put(&end, npz->count, 2);
    put(&end, (uint32_t)(npz->written_bytes - start), 4);
    put(&end, (uint32_t)start, 4);
    put(&end, 0, 2); /* comment */
    assert(end.used == END_BYTES);
    return write_bytes(npz, end.bytes, end.used, err);
}

enum gnn_status gnn_npz_end(struct gnn_npz_out *npz, enum gnn_status status, struct gnn_err *err)
{
    GNN_NEXT(status, write_list(npz, err));
    return gnn_out_end(npz->file, status, NULL, err);
}
