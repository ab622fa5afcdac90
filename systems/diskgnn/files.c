/* SPDX-License-Identifier: MIT */
/* Names, unfinished files and small table files of the preparation: see prepare.h. */
#include "harness/base/clock.h"
#include "harness/base/log.h"
#include "harness/base/rng.h"
#include "harness/storage/exact.h"
#include "harness/system/epoch.h"
#include "harness/system/prepared.h"
#include "systems/diskgnn/internal.h"

#include <inttypes.h>
#include <stdio.h>

static const uint64_t nap_ns = 50000000, progress_ns = UINT64_C(10000000000);

/* ---- names ---- */

struct diskgnn_path diskgnn_path_of(const struct diskgnn_job *job, const char *name, const char *suffix)
{
    struct diskgnn_path path;
    const int length = snprintf(path.text, sizeof path.text, "%s/%s-%s%s", job->dir, job->stem, name, suffix);
    assert(length > 0);
    assert((size_t)length < sizeof path.text);
    return path;
}

uint64_t diskgnn_fold_text(uint64_t key, const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        key = gnn_rng_fold(key, (unsigned char)*at);
    return key;
}

/* ---- files in the making ---- */

static enum gnn_status open_part(const struct diskgnn_job *job, const char *name, unsigned flags, struct gnn_file **out,
                                 struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct gnn_file_info info;
    const struct diskgnn_path path = diskgnn_path_of(job, name, ".part");
    GNN_TRY(gnn_file_open(world, path.text, GNN_OPEN_WRITE | flags, out, err));
    gnn_file_info(world, *out, &info);
    if (gnn_file_align(&info) <= diskgnn_page_bytes(job->config))
        return GNN_OK;
    return gnn_fail(err, GNN_ENOTSUP,
                    "%s: direct I/O on this file system requires multiples of %" PRIu32 " bytes: set diskgnn.page=4096",
                    path.text, gnn_file_align(&info));
}

enum gnn_status diskgnn_part_open(const struct diskgnn_job *job, const char *name, unsigned flags,
                                  struct gnn_file **out, struct gnn_err *err)
{
    return open_part(job, name, GNN_OPEN_TRUNCATE | flags, out, err);
}

enum gnn_status diskgnn_part_reopen(const struct diskgnn_job *job, const char *name, unsigned flags,
                                    struct gnn_file **out, struct gnn_err *err)
{
    return open_part(job, name, flags, out, err);
}

enum gnn_status diskgnn_part_close(struct diskgnn_job *job, const char *name, struct gnn_file *file,
                                   enum gnn_status status, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    const struct diskgnn_path part = diskgnn_path_of(job, name, ".part");
    struct gnn_file_info info = {.size_bytes = 0};
    if (file != NULL)
        gnn_file_info(world, file, &info);
    GNN_NEXT(status, gnn_file_sync(world, file, err));
    gnn_file_close(world, file);
    GNN_NEXT(status, gnn_file_rename(world, part.text, diskgnn_path_of(job, name, "").text, err));
    if (status == GNN_OK)
        job->written_bytes += info.size_bytes;
    else if (file != NULL)
        (void)gnn_file_remove(world, part.text, NULL);
    return status;
}

/* ---- finished files ---- */

enum gnn_status diskgnn_open_if_there(const struct diskgnn_job *job, const char *name, unsigned flags,
                                      struct gnn_file **out, struct gnn_err *err)
{
    struct gnn_err local = {.status = GNN_OK};
    *out = NULL;
    const enum gnn_status status =
        gnn_file_open(job->env->world, diskgnn_path_of(job, name, "").text, GNN_OPEN_READ | flags, out, &local);
    if (status == GNN_OK || status == GNN_ENOENT)
        return GNN_OK;
    return gnn_fail(err, status, "%s", local.message);
}

void diskgnn_remove(const struct diskgnn_job *job, const char *name)
{
    (void)gnn_file_remove(job->env->world, diskgnn_path_of(job, name, "").text, NULL);
}

enum gnn_status diskgnn_not_ours(const struct diskgnn_job *job, const char *name, struct gnn_err *err)
{
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: prepared for another run, or damaged; remove the file, or set diskgnn.reuse=false",
                    diskgnn_path_of(job, name, "").text);
}

enum gnn_status diskgnn_check_size(const struct diskgnn_job *job, struct gnn_file *file, uint64_t bytes,
                                   struct gnn_err *err)
{
    struct gnn_file_info info;
    gnn_file_info(job->env->world, file, &info);
    if (info.size_bytes == bytes)
        return GNN_OK;
    return gnn_fail(err, GNN_EFORMAT,
                    "%s: %" PRIu64 " bytes, %" PRIu64 " expected; remove the file, or set diskgnn.reuse=false",
                    gnn_file_path(job->env->world, file), info.size_bytes, bytes);
}

/* ---- one preparation at a time ---- */

enum gnn_status diskgnn_lock(const struct diskgnn_job *job, struct gnn_file **lock, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    char path[800];
    bool told = false;
    *lock = NULL;
    GNN_TRY(gnn_dir_make(world, job->dir, err));
    (void)snprintf(path, sizeof path, "%s/lock", job->dir);
    GNN_TRY(gnn_file_open(world, path, GNN_OPEN_WRITE, lock, err));
    for (;;) {
        bool held = false;
        GNN_TRY(gnn_file_lock(world, *lock, &held, err));
        if (held)
            return GNN_OK;
        if (!told)
            gnn_log_info("diskgnn: another run is preparing %s; waiting for it", job->dir);
        told = true;
        GNN_TRY(gnn_check_stop(job->env, err));
        gnn_sleep_until(world, gnn_now_ns(world) + nap_ns, GNN_WAIT_RESOURCE);
    }
}

void diskgnn_progress(struct diskgnn_job *job, const char *what, uint64_t done, uint64_t total)
{
    const uint64_t now_ns = gnn_host_now_ns();
    if (job->said_ns == 0)
        job->said_ns = now_ns;
    if (now_ns - job->said_ns < progress_ns)
        return;
    job->said_ns = now_ns;
    gnn_log_info("diskgnn: %s: %" PRIu64 " of %" PRIu64, what, done, total);
}

/* ---- table files ---- */

struct table_header {
    char magic[GNN_MAGIC_BYTES];
    uint64_t key, checksum, array_bytes[2], words[24];
};
_Static_assert(sizeof(struct table_header) <= GNN_PAGE_BYTES, "the arrays follow on the next page");

static uint64_t checksum_of(uint64_t sum, const void *data, uint64_t bytes)
{
    assert(bytes % sizeof(uint64_t) == 0);
    for (uint64_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, (const unsigned char *)data + at, sizeof word);
        sum = gnn_rng_fold(sum, word);
    }
    return sum;
}

static uint64_t header_checksum(const struct table_header *header)
{
    const uint64_t sum = checksum_of(header->key, header->array_bytes, sizeof header->array_bytes);
    return checksum_of(sum, header->words, sizeof header->words);
}

enum gnn_status diskgnn_write_table(struct diskgnn_job *job, const struct diskgnn_table_file *table, uint64_t *bytes,
                                    struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct table_header header = {.key = table->key, .array_bytes = {table->array[0].bytes, table->array[1].bytes}};
    memcpy(header.magic, table->magic, sizeof header.magic);
    memcpy(header.words, table->words, sizeof header.words);
    header.checksum = header_checksum(&header);
    unsigned char *memory = NULL;
    *bytes = GNN_PAGE_BYTES + table->array[0].bytes + table->array[1].bytes;
    GNN_MEM_NEW(world, memory, *bytes, "diskgnn table file", GNN_MEM_PLAIN, err);
    uint64_t at = GNN_PAGE_BYTES;
    for (size_t i = 0; i < 2; i++) {
        header.checksum = checksum_of(header.checksum, table->array[i].data, table->array[i].bytes);
        if (table->array[i].bytes > 0)
            memcpy(memory + at, table->array[i].data, table->array[i].bytes);
        at += table->array[i].bytes;
    }
    memcpy(memory, &header, sizeof header);
    struct gnn_file *file = NULL;
    enum gnn_status status = diskgnn_part_open(job, table->name, 0, &file, err);
    GNN_NEXT(status, gnn_write_all(world, file, 0, memory, *bytes, err));
    gnn_mem_free(world, memory);
    return diskgnn_part_close(job, table->name, file, status, err);
}

static enum gnn_status read_arrays(const struct diskgnn_job *job, struct diskgnn_table_file *table,
                                   struct gnn_file *file, uint64_t *bytes, struct gnn_err *err)
{
    struct gnn_world *const world = job->env->world;
    struct table_header header;
    struct gnn_file_info info;
    gnn_file_info(world, file, &info);
    if (info.size_bytes < GNN_PAGE_BYTES)
        return diskgnn_not_ours(job, table->name, err);
    GNN_TRY(gnn_read_all(world, file, 0, &header, sizeof header, err));
    table->outdated = gnn_prepared_other_version(gnn_file_path(world, file), header.magic, table->magic);
    if (table->outdated)
        return GNN_OK;
    const uint64_t *const sizes = header.array_bytes;
    if (memcmp(header.magic, table->magic, sizeof header.magic) != 0 || header.key != table->key ||
        gnn_add_bytes(gnn_add_bytes(GNN_PAGE_BYTES, sizes[0]), sizes[1]) != info.size_bytes ||
        sizes[0] % sizeof(uint64_t) != 0 || sizes[1] % sizeof(uint64_t) != 0)
        return diskgnn_not_ours(job, table->name, err);
    uint64_t sum = header_checksum(&header), at = GNN_PAGE_BYTES;
    for (size_t i = 0; i < 2; i++) {
        table->array[i].bytes = sizes[i];
        if (sizes[i] == 0)
            continue;
        GNN_TRY(
            gnn_mem_alloc(world, "diskgnn directory of records", sizes[i], GNN_MEM_PLAIN, &table->array[i].data, err));
        GNN_TRY(gnn_read_all(world, file, at, table->array[i].data, sizes[i], err));
        sum = checksum_of(sum, table->array[i].data, sizes[i]);
        at += sizes[i];
    }
    memcpy(table->words, header.words, sizeof table->words);
    *bytes = info.size_bytes;
    return sum == header.checksum ? GNN_OK : diskgnn_not_ours(job, table->name, err);
}

enum gnn_status diskgnn_read_table(const struct diskgnn_job *job, struct diskgnn_table_file *table, bool *found,
                                   uint64_t *bytes, struct gnn_err *err)
{
    struct gnn_file *file;
    GNN_TRY(diskgnn_open_if_there(job, table->name, 0, &file, err));
    *found = file != NULL;
    if (file == NULL)
        return GNN_OK;
    const enum gnn_status status = read_arrays(job, table, file, bytes, err);
    gnn_file_close(job->env->world, file);
    *found = !table->outdated;
    return status;
}
