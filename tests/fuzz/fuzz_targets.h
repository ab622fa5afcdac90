/* One function per format that reads bytes from outside: any bytes must end in a value or an error, never in
 * undefined behaviour. Shared by the bounded fuzzer of the quick suite (test_fuzz_formats.c) and libFuzzer
 * (fuzz_formats.c). */
#ifndef GNN_TESTS_FUZZ_TARGETS_H
#define GNN_TESTS_FUZZ_TARGETS_H

#include "harness/dataset/edges.h"
#include "harness/dataset/triples.h"
#include "harness/storage/meta.h"
#include "harness/world/profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* A meta that parses is written, parsed again and equal. */
static inline void fuzz_meta(const unsigned char *data, size_t len)
{
    struct gnn_meta *meta = malloc(2 * sizeof *meta);
    char *text = malloc(2 * GNN_META_TEXT_MAX);
    struct gnn_err err = {0};
    assert(meta != NULL && text != NULL);
    if (gnn_meta_parse((const char *)data, len, "meta", &meta[0], &err) == GNN_OK) {
        assert(gnn_meta_format(&meta[0], text, 2 * GNN_META_TEXT_MAX, &err) == GNN_OK);
        assert(gnn_meta_parse(text, strlen(text), "meta", &meta[1], &err) == GNN_OK);
        assert(memcmp(&meta[0], &meta[1], sizeof *meta) == 0);
    } else {
        assert(err.message[0] != '\0');
    }
    free(text);
    free(meta);
}

/* A header that parses has a size that is consistent and cannot overflow. */
static inline void fuzz_npy(const unsigned char *data, size_t len)
{
    struct gnn_npy_header header;
    struct gnn_err err = {0};
    if (gnn_npy_parse((const char *)data, len, "f.npy", &header, &err) == GNN_OK) {
        uint64_t items = 1;
        assert(header.dim_count <= GNN_NPY_DIMS_MAX && header.item_bytes >= 1 && header.item_bytes <= 8);
        for (uint32_t i = 0; i < header.dim_count; i++)
            items *= header.shape[i];
        assert(items == header.items && gnn_mul_bytes(items, header.item_bytes) != UINT64_MAX);
    } else {
        assert(err.message[0] != '\0');
    }
}

static inline void fuzz_snap(const unsigned char *data, size_t len)
{
    char line[GNN_INPUT_LINE_MAX];
    gnn_node source = 0, target = 0;
    const char *why = NULL;
    len = len < sizeof line - 1 ? len : sizeof line - 1;
    memcpy(line, data, len);
    line[len] = '\0';
    const enum gnn_snap_line kind = gnn_snap_parse_line(line, &source, &target, &why);
    assert(source < GNN_NODE_NONE && target < GNN_NODE_NONE && (kind == GNN_SNAP_BAD) == (why != NULL));
}

/* Fields that are found lie in the line, one after another, are not empty and hold no tab. */
static inline void fuzz_triple(const unsigned char *data, size_t len)
{
    char line[GNN_INPUT_LINE_MAX];
    struct gnn_triple_line fields;
    const char *why = NULL;
    len = len < sizeof line - 1 ? len : sizeof line - 1;
    memcpy(line, data, len);
    line[len] = '\0';
    const enum gnn_triple_kind kind = gnn_triple_parse_line(line, &fields, &why);
    assert((kind == GNN_TRIPLE_BAD) == (why != NULL));
    const char *at = line;
    for (int f = 0; f < 3 && kind == GNN_TRIPLE_FIELDS; f++) {
        uint32_t number;
        assert(fields.field[f] == at && fields.length[f] > 0 && memchr(at, '\t', fields.length[f]) == NULL);
        assert(!gnn_triple_number(at, fields.length[f], 1000, &number) || number < 1000);
        at += fields.length[f] + 1;
        assert((size_t)(at - line) <= strlen(line) + 1);
    }
}

/* A profile that parses has figures that nobody divides by 0 with, and parses again to the same digest. */
static inline void fuzz_profile(const unsigned char *data, size_t len)
{
    char *text = malloc(len + 1);
    struct gnn_profile *profile = NULL, *again = NULL;
    struct gnn_err err = {0};
    assert(text != NULL);
    memcpy(text, data, len);
    text[len] = '\0';
    if (gnn_profile_parse("/nowhere/fuzz.ini", text, &profile, &err) == GNN_OK) {
        const struct gnn_profile_storage *st = &profile->storage;
        assert(profile->cpu.cores > 0 && st->devices > 0 && st->write_iops > 0 && st->write_bytes_per_s > 0);
        assert(profile->host.bytes_per_s > 0 && profile->host.gemm_flops_per_s > 0);
        assert(st->size_count >= 1 && st->size_count <= GNN_PROFILE_SIZES_MAX);
        assert(st->depth_count >= 1 && st->depth_count <= GNN_PROFILE_DEPTHS_MAX && st->depth[0] == 1);
        for (uint32_t s = 0; s < st->size_count; s++)
            for (uint32_t d = 0; d < st->depth_count; d++)
                assert(st->read_ps[s][d] > 0);
        assert(gnn_profile_parse("/nowhere/fuzz.ini", text, &again, &err) == GNN_OK);
        assert(memcmp(profile, again, sizeof *profile) == 0);
    } else {
        assert(err.message[0] != '\0');
    }
    gnn_profile_close(again);
    gnn_profile_close(profile);
    free(text);
}

#endif
