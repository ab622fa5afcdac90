/* SPDX-License-Identifier: MIT */
/* Fuzz targets of arrays as publishers ship them: zip archives, pickles, neighbour lists and their conf.json. Included
 * by fuzz_targets.h, whose helpers they use. */
#ifndef GNN_TESTS_FUZZ_ARRAYS_H
#define GNN_TESTS_FUZZ_ARRAYS_H

#include "harness/dataset/mapped_arrays.h"
#include "harness/dataset/pickle.h"
#include "harness/dataset/zip.h"

/* Every member of an archive, whole and with a seek. What is read has the size that the directory states. */
static inline void fuzz_zip(const unsigned char *data, size_t len)
{
    char path[700];
    unsigned char bytes[4096];
    struct gnn_zip *zip = NULL;
    struct gnn_err err = {0};
    bool more = true;
    (void)snprintf(path, sizeof path, "%s/a.npz", fuzz_dir());
    fuzz_write(path, data, len);
    enum gnn_status status = gnn_zip_open(path, &zip, &err);
    for (int entries = 0; status == GNN_OK && more && entries < 100; entries++) {
        struct gnn_zip_entry entry;
        struct gnn_zip_member *member = NULL;
        struct gnn_err why = {0};
        status = gnn_zip_next(zip, &entry, &more, &err);
        if (status != GNN_OK || !more)
            break;
        assert(memchr(entry.name, '\0', sizeof entry.name) != NULL);
        enum gnn_status read = gnn_zip_member_open(zip, &entry, &member, &why);
        uint64_t got = 1, all = 0;
        while (read == GNN_OK && got > 0) {
            read = gnn_zip_member_read(member, bytes, sizeof bytes, &got, &why);
            all += got;
        }
        assert(read != GNN_OK || all == entry.bytes);
        if (read == GNN_OK)
            read = gnn_zip_member_seek(member, entry.bytes / 2, &why);
        assert(read == GNN_OK || why.message[0] != '\0');
        gnn_zip_member_close(member);
    }
    assert(status == GNN_OK || err.message[0] != '\0');
    gnn_zip_close(zip);
}

/* An array that is found is inside the pickle, or has a file's name. */
static inline void fuzz_pickle(const unsigned char *data, size_t len)
{
    static const char *const keys[] = {"train", "valid", "test", NULL};
    struct gnn_pickle_array array;
    struct gnn_err err = {0};
    bool found = false;
    if (gnn_pickle_find(data, len, keys, "f.pt", &array, &found, &err) != GNN_OK) {
        assert(err.message[0] != '\0');
        return;
    }
    if (!found)
        return;
    assert(gnn_mul_bytes(array.header.items, array.header.item_bytes) != UINT64_MAX);
    if (array.storage[0] != '\0') {
        assert(memchr(array.storage, '\0', sizeof array.storage) != NULL);
        return;
    }
    assert(array.bytes >= data);
    assert(array.byte_count <= len - (size_t)(array.bytes - data));
}

static inline void fuzz_mapped(const unsigned char *data, size_t len)
{
    struct gnn_array_files *const files = calloc(1, sizeof *files);
    char *const text = calloc(1, len + 1);
    struct gnn_err err = {0};
    assert(files != NULL && text != NULL);
    memcpy(text, data, len);
    if (gnn_mapped_parse(text, "conf.json", files, &err) == GNN_OK) {
        const struct gnn_npy_header *const headers[] = {&files->edges.raw[0], &files->edges.raw[1], &files->feature_raw,
                                                        &files->label_raw};
        for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
            assert(headers[h]->dim_count <= GNN_NPY_DIMS_MAX);
            assert(headers[h]->item_bytes <= 8);
            assert(gnn_mul_bytes(headers[h]->items, headers[h]->item_bytes) != UINT64_MAX);
        }
    } else {
        assert(err.message[0] != '\0');
    }
    free(text);
    free(files);
}

/* Neighbour lists: the first byte tells offsets from IDs, the rest are its numbers. Every edge that comes out joins a
 * list that exists, and there are as many as IDs. */
static inline void fuzz_lists(const unsigned char *data, size_t len)
{
    static const int64_t offsets[] = {0, 2, 2, 5}, ids[] = {1, 2, 0, 0, 1};
    struct gnn_edge_files files = {.form = GNN_EDGES_CSC};
    struct gnn_edge_arrays *edges = NULL;
    struct gnn_err err = {0};
    bool more = true;
    if (len < 9)
        return;
    const bool first = data[0] % 2 == 0;
    for (int i = 0; i < 2; i++) {
        const bool own = (i == 0) == first;
        const uint64_t items = own ? (len - 1) / 8 : i == 0 ? 4 : 5;
        (void)snprintf(files.path[i], sizeof files.path[i], "%s/%s", fuzz_dir(), i == 0 ? "indptr" : "indices");
        fuzz_write(files.path[i],
                   own      ? (const void *)(data + 1)
                   : i == 0 ? (const void *)offsets
                            : (const void *)ids,
                   items * 8);
        files.raw[i] =
            (struct gnn_npy_header){.kind = 'i', .item_bytes = 8, .dim_count = 1, .shape = {items}, .items = items};
    }
    enum gnn_status status = gnn_edge_arrays_open(&files, &edges, &err);
    while (status == GNN_OK && more) {
        gnn_node source = 0, target = 0;
        status = gnn_edge_arrays_next(edges, &source, &target, &more, &err);
        assert(status != GNN_OK || !more || target < gnn_edge_arrays_nodes(edges));
    }
    assert(status == GNN_OK ? gnn_edge_arrays_taken(edges) == gnn_edge_arrays_total(edges) : err.message[0] != '\0');
    gnn_edge_arrays_close(edges);
}

#endif
