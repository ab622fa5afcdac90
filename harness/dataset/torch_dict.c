/* SPDX-License-Identifier: MIT */
#include "harness/dataset/torch_dict.h"

#include "harness/dataset/pickle.h"
#include "harness/dataset/zip.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pickle of an archive, and the folder in it that has both it and the numbers. */
struct pickled {
    unsigned char *bytes;
    uint64_t len;
    char folder[GNN_ZIP_NAME];
};

static enum gnn_status unreadable(const char *path, const char *why, struct gnn_err *err)
{
    return gnn_fail(
        err, GNN_EFORMAT,
        "%s: %s: in the directory of the edges, `python3 -c \"import numpy, torch; [numpy.save(k + '_idx.npy', "
        "numpy.asarray(v)) for k, v in torch.load('%s', weights_only=False).items()]\"` writes arrays that "
        "can be read",
        path, why, path);
}

static enum gnn_status read_member(struct gnn_zip *zip, const struct gnn_zip_entry *entry, struct pickled *out,
                                   struct gnn_err *err)
{
    struct gnn_zip_member *member = NULL;
    out->len = entry->bytes;
    out->bytes = malloc(entry->bytes + 1);
    if (out->bytes == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%" PRIu64 " B of %s", entry->bytes, entry->name);
    uint64_t got = 0;
    enum gnn_status status = gnn_zip_member_open(zip, entry, &member, err);
    GNN_NEXT(status, gnn_zip_member_read(member, out->bytes, entry->bytes, &got, err));
    gnn_zip_member_close(member);
    return status;
}

static enum gnn_status read_pickle(const char *path, uint64_t memory_bytes, struct pickled *out, struct gnn_err *err)
{
    struct gnn_zip *zip;
    struct gnn_zip_entry entry;
    bool more = true, found = false;
    if (gnn_zip_open(path, &zip, NULL) != GNN_OK)
        return unreadable(path, "not a file of torch.save of PyTorch 1.6 or later", err);
    enum gnn_status status = GNN_OK;
    while (status == GNN_OK && more && !found) {
        status = gnn_zip_next(zip, &entry, &more, err);
        const size_t len = more && status == GNN_OK ? strlen(entry.name) : 0;
        found = len > 9 && strcmp(entry.name + len - 9, "/data.pkl") == 0;
        if (found)
            (void)snprintf(out->folder, sizeof out->folder, "%.*s", (int)(len - 8), entry.name);
    }
    if (status == GNN_OK && !found)
        status = unreadable(path, "an archive without data.pkl", err);
    if (status == GNN_OK && entry.bytes > memory_bytes)
        status = gnn_fail(err, GNN_ECAP,
                          "%s: its pickle takes %" PRIu64 " B of memory, %" PRIu64 " are allowed: raise --memory", path,
                          entry.bytes, memory_bytes);
    GNN_NEXT(status, read_member(zip, &entry, out, err));
    gnn_zip_close(zip);
    return status;
}

/* Text of a pickle has two bytes for each byte from 128 on. Decodes in place and returns the number of bytes. */
static uint64_t decode(unsigned char *bytes, uint64_t len)
{
    uint64_t used = 0;
    for (uint64_t i = 0; i < len; i++) {
        const bool two = (bytes[i] & 0xfc) == 0xc0 && i + 1 < len;
        bytes[used++] = two ? (unsigned char)((bytes[i] & 3) << 6 | (bytes[i + 1] & 63)) : bytes[i];
        i += two;
    }
    return used;
}

static enum gnn_status open_numbers(const char *path, const struct gnn_pickle_array *array, struct gnn_torch_array *out,
                                    struct gnn_err *err)
{
    out->numbers = malloc(array->byte_count + 1);
    if (out->numbers == NULL)
        return gnn_fail(err, GNN_ENOMEM, "%" PRIu64 " B of %s", array->byte_count, path);
    memcpy(out->numbers, array->bytes, array->byte_count);
    const uint64_t len = array->utf8 ? decode(out->numbers, array->byte_count) : array->byte_count;
    return gnn_npy_open_memory(path, out->numbers, len, &array->header, &out->npy, err);
}

static enum gnn_status open_tensor(const char *path, const char *folder, const struct gnn_pickle_array *array,
                                   struct gnn_torch_array *out, struct gnn_err *err)
{
    char member[GNN_OUTPUT_PATH];
    struct gnn_npy_header all = array->header;
    all.dim_count = 1;
    all.shape[0] = all.items = array->storage_items;
    if (gnn_mul_bytes(all.items, all.item_bytes) == UINT64_MAX)
        return unreadable(path, "a tensor of more than 2^64 bytes", err);
    (void)snprintf(member, sizeof member, "%s/%sdata/%s", path, folder, array->storage);
    GNN_TRY(gnn_npy_open_raw(member, &all, &out->npy, err));
    return gnn_npy_window(out->npy, array->storage_first, &array->header, err);
}

enum gnn_status gnn_torch_open(const char *path, const char *const *keys, uint64_t memory_bytes,
                               struct gnn_torch_array *out, bool *found, struct gnn_err *err)
{
    struct pickled pickled = {0};
    struct gnn_pickle_array array;
    struct gnn_err why = {0};
    *out = (struct gnn_torch_array){0};
    *found = false;
    enum gnn_status status = read_pickle(path, memory_bytes / 2, &pickled, err);
    if (status == GNN_OK && gnn_pickle_find(pickled.bytes, pickled.len, keys, path, &array, found, &why) != GNN_OK)
        status = unreadable(path, "not a dictionary of tensors or NumPy arrays", err);
    if (status == GNN_OK && *found)
        status = array.storage[0] != '\0' ? open_tensor(path, pickled.folder, &array, out, err)
                                          : open_numbers(path, &array, out, err);
    free(pickled.bytes);
    if (status != GNN_OK)
        gnn_torch_close(out);
    return status;
}

void gnn_torch_close(struct gnn_torch_array *array)
{
    gnn_npy_close(array->npy);
    free(array->numbers);
    *array = (struct gnn_torch_array){0};
}
