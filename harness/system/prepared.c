/* SPDX-License-Identifier: MIT */
#include "harness/system/prepared.h"

#include "harness/base/log.h"
#include "harness/storage/exact.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct gnn_prepared_path gnn_prepared_path(const struct gnn_prepared *prepared, const char *name)
{
    struct gnn_prepared_path path;
    (void)snprintf(path.text, sizeof path.text, "%s/%s", prepared->dir, name);
    return path;
}

static struct gnn_prepared_path part_path(const struct gnn_prepared *prepared, const char *name)
{
    struct gnn_prepared_path path;
    (void)snprintf(path.text, sizeof path.text, "%s/%s.part", prepared->dir, name);
    return path;
}

enum gnn_status gnn_prepared_open(const struct gnn_prepared *prepared, const char *name, unsigned flags,
                                  struct gnn_file **out, struct gnn_err *err)
{
    struct gnn_err local = {0};
    *out = NULL;
    const enum gnn_status status =
        gnn_file_open(prepared->world, gnn_prepared_path(prepared, name).text, flags, out, &local);
    if (status == GNN_OK || status == GNN_ENOENT)
        return GNN_OK;
    return gnn_fail(err, status, "%s", local.message);
}

enum gnn_status gnn_prepared_begin(const struct gnn_prepared *prepared, const char *name, unsigned flags,
                                   struct gnn_file **out, struct gnn_err *err)
{
    return gnn_file_open(prepared->world, part_path(prepared, name).text, GNN_OPEN_WRITE | GNN_OPEN_TRUNCATE | flags,
                         out, err);
}

enum gnn_status gnn_prepared_end(struct gnn_prepared *prepared, const char *name, struct gnn_file *file,
                                 enum gnn_status status, struct gnn_err *err)
{
    struct gnn_world *const world = prepared->world;
    const struct gnn_prepared_path part = part_path(prepared, name);
    struct gnn_file_info info = {0};
    if (file != NULL)
        gnn_file_info(world, file, &info);
    GNN_NEXT(status, gnn_file_sync(world, file, err));
    gnn_file_close(world, file);
    GNN_NEXT(status, gnn_file_rename(world, part.text, gnn_prepared_path(prepared, name).text, err));
    if (status == GNN_OK)
        prepared->written_bytes += info.size_bytes;
    else if (file != NULL)
        (void)gnn_file_remove(world, part.text, NULL);
    return status;
}

enum gnn_status gnn_prepared_write(struct gnn_prepared *prepared, const char *name, const void *data, uint64_t bytes,
                                   struct gnn_err *err)
{
    struct gnn_file *file = NULL;
    enum gnn_status status = gnn_prepared_begin(prepared, name, 0, &file, err);
    GNN_NEXT(status, gnn_write_all(prepared->world, file, 0, data, bytes, err));
    return gnn_prepared_end(prepared, name, file, status, err);
}

enum gnn_status gnn_prepared_count(const struct gnn_prepared *prepared, const char *name, uint64_t *bytes,
                                   struct gnn_err *err)
{
    struct gnn_file *file;
    struct gnn_file_info info = {.size_bytes = 0};
    GNN_TRY(gnn_prepared_open(prepared, name, GNN_OPEN_READ, &file, err));
    if (file != NULL)
        gnn_file_info(prepared->world, file, &info);
    gnn_file_close(prepared->world, file);
    *bytes += info.size_bytes;
    return GNN_OK;
}

/* Returns the length of a magic without the number at its end, 0 if it has none or a byte that is no text. */
static size_t stem_of(const char *magic)
{
    const size_t length = strnlen(magic, GNN_MAGIC_BYTES);
    size_t stem = length;
    while (stem > 0 && isdigit((unsigned char)magic[stem - 1]))
        stem--;
    for (size_t i = length; i < GNN_MAGIC_BYTES; i++)
        if (magic[i] != '\0')
            return 0;
    return stem < length ? stem : 0;
}

bool gnn_prepared_other_version(const char *path, const char *found, const char *expected)
{
    const size_t stem = stem_of(expected);
    if (stem == 0 || stem_of(found) != stem || memcmp(found, expected, stem) != 0)
        return false;
    if (memcmp(found, expected, GNN_MAGIC_BYTES) == 0)
        return false;
    gnn_log_info("%s: prepared by another version of this program (%.16s, not %.16s); preparing it again", path, found,
                 expected);
    return true;
}
