/* SPDX-License-Identifier: MIT */
/* Mappings and the gathers that fault on them. How a bad page becomes an error: measured.h. */
#include "harness/base/id_width.h"
#include "harness/world/measured/internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GATHER_AHEAD = 24 }; /* elements prefetched ahead: covers a DRAM miss at about 4 ns an element */

struct gnn_map {
    const struct gnn_file *file;
    unsigned char *base; /* NULL for an empty file */
    uint64_t size_bytes;
    size_t page_bytes;                  /* of this kernel */
    bool writable;                      /* as the file is */
    atomic_bool broken;                 /* a page could not be read: zeros stand in its place */
    atomic_uint_fast64_t broken_offset; /* of the first such page */
};

/* The mapping this thread is gathering from: all that a signal handler can know. Set around the loops below. */
static _Thread_local struct gnn_map *gathering;

static int protection(const struct gnn_map *map)
{
    return map->writable ? PROT_READ | PROT_WRITE : PROT_READ;
}

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    struct gnn_map *map = gathering;
    const uintptr_t address = (uintptr_t)info->si_addr;
    const uintptr_t base = map == NULL ? 0 : (uintptr_t)map->base;
    if (map != NULL && address >= base && address - base < map->size_bytes) {
        const int saved_errno = errno;
        const uint64_t page_offset = gnn_round_down(address - base, map->page_bytes);
        if (!atomic_exchange(&map->broken, true))
            atomic_store(&map->broken_offset, page_offset);
        void *const zeros = mmap(map->base + page_offset, map->page_bytes, protection(map),
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        errno = saved_errno;
        if (zeros != MAP_FAILED)
            return; /* the load runs again and finds zeros; the gather reports the page */
    }
    /* Not ours: the access repeats and the process dies of it. */
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    (void)sigaction(signal_number, &standard, NULL);
}

static void install_sigbus_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
    (void)sigemptyset(&action.sa_mask);
    const int rc = sigaction(SIGBUS, &action, NULL);
    assert(rc == 0);
}

/* ---- open, close ---- */

enum gnn_status measured_map_open(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                                  struct gnn_map **out, struct gnn_err *err)
{
    *out = NULL;
    struct gnn_map *map;
    GNN_NEW(map, 1, err, "%s: a mapping handle, %zu bytes", file->path, sizeof *map);
    struct gnn_file_info info;
    measured_file_info(w, file, &info);
    map->file = file;
    map->size_bytes = info.size_bytes;
    map->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    map->writable = (fcntl(file->fd, F_GETFL) & O_ACCMODE) == O_RDWR;
    if (map->size_bytes > 0) {
        void *base = mmap(NULL, map->size_bytes, protection(map), MAP_SHARED, file->fd, 0);
        if (base == MAP_FAILED) {
            const int error = errno;
            free(map);
            return gnn_fail(err, error == ENOMEM ? GNN_ENOMEM : GNN_EIO, "%s: mapping %llu bytes: %s", file->path,
                            (unsigned long long)info.size_bytes, strerror(error));
        }
        map->base = base;
        const int rc = madvise(base, map->size_bytes, advice == GNN_MAP_RANDOM ? MADV_RANDOM : MADV_NORMAL);
        assert(rc == 0);
        install_sigbus_handler();
    }
    *out = map;
    return GNN_OK;
}

void measured_map_close(struct gnn_world *w, struct gnn_map *map)
{
    (void)w;
    if (map == NULL)
        return;
    if (map->base != NULL) {
        const int rc = munmap(map->base, map->size_bytes);
        assert(rc == 0);
    }
    free(map);
}

/* ---- gathers ---- */

/* Fails when a page of the mapping was unreadable in this gather or an earlier one, of any thread: a mapping breaks for
 * good. */
static enum gnn_status check_pages(struct gnn_map *map, struct gnn_err *err)
{
    if (!atomic_load(&map->broken))
        return GNN_OK;
    return gnn_fail(err, GNN_EIO, "%s: the page at offset %llu cannot be read: a media error, or the file was cut",
                    map->file->path, (unsigned long long)atomic_load(&map->broken_offset));
}

static enum gnn_status check_size(const struct gnn_map *map, struct gnn_err *err)
{
    struct stat info;
    if (fstat(map->file->fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size != map->size_bytes)
        return gnn_fail(err, GNN_EIO, "%s: changed from %llu to %llu bytes while it was mapped", map->file->path,
                        (unsigned long long)map->size_bytes, (unsigned long long)info.st_size);
    return GNN_OK;
}

/* Returns how many of count were gathered; less when an index passes the end. */
static uint64_t gather_u32(const uint32_t *values, uint64_t value_count, const uint64_t *index, uint64_t count,
                           uint32_t *out)
{
    const uint64_t ahead_count = count > GATHER_AHEAD ? count - GATHER_AHEAD : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (index[i] >= value_count)
            return i;
        /* A prefetch never faults: pages that are not resident cost nothing here and are read in order below. */
        if (i < ahead_count && index[i + GATHER_AHEAD] < value_count)
            __builtin_prefetch(values + index[i + GATHER_AHEAD]);
        out[i] = values[index[i]];
    }
    return count;
}

/* The same of entries of 8 bytes. */
static uint64_t gather_u64(const uint64_t *values, uint64_t value_count, const uint64_t *index, uint64_t count,
                           uint32_t *out)
{
    const uint64_t ahead_count = count > GATHER_AHEAD ? count - GATHER_AHEAD : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (index[i] >= value_count)
            return i;
        if (i < ahead_count && index[i + GATHER_AHEAD] < value_count)
            __builtin_prefetch(values + index[i + GATHER_AHEAD]);
        out[i] = gnn_id_narrow(values[index[i]]);
    }
    return count;
}

enum gnn_status measured_map_gather_ids(struct gnn_world *w, struct gnn_map *map, uint32_t id_bytes,
                                        const uint64_t *index, uint64_t count, uint32_t *out, struct gnn_err *err)
{
    assert(id_bytes == sizeof(uint32_t) || id_bytes == sizeof(uint64_t));
    GNN_TRY(check_pages(map, err));
    GNN_TRY(check_size(map, err));
    struct gnn_thread *self = measured_self(measured_of(w));
    struct measured_fault_timer timer;
    measured_fault_timer_start(self, &timer);
    const uint64_t value_count = map->size_bytes / id_bytes;
    const void *const values = map->base;
    gathering = map;
    atomic_signal_fence(memory_order_seq_cst);
    const uint64_t done = id_bytes == sizeof(uint32_t) ? gather_u32(values, value_count, index, count, out)
                                                       : gather_u64(values, value_count, index, count, out);
    atomic_signal_fence(memory_order_seq_cst);
    gathering = NULL;
    (void)measured_fault_timer_stop(self, &timer);
    if (done < count)
        return gnn_fail(err, GNN_EFORMAT, "%s: element %llu was asked for, the file ends at %llu", map->file->path,
                        (unsigned long long)index[done], (unsigned long long)value_count);
    return check_pages(map, err);
}

/* Gathers rows of row_bytes, else as gather_u32. */
static uint64_t gather_rows(const struct gnn_map *map, uint32_t row_bytes, const gnn_node *rows, uint64_t count,
                            unsigned char *dst, uint64_t dst_stride_bytes)
{
    const uint64_t row_count = map->size_bytes / row_bytes;
    for (uint64_t i = 0; i < count; i++) {
        if (rows[i] >= row_count)
            return i;
        if (i + 2 < count && rows[i + 2] < row_count)
            __builtin_prefetch(map->base + (uint64_t)rows[i + 2] * row_bytes);
        memcpy(dst + i * dst_stride_bytes, map->base + (uint64_t)rows[i] * row_bytes, row_bytes);
    }
    return count;
}

enum gnn_status measured_map_gather_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                         const gnn_node *rows, uint64_t count, void *dst, uint64_t dst_stride_bytes,
                                         struct gnn_err *err)
{
    assert(row_bytes > 0);
    assert(dst_stride_bytes >= row_bytes);
    GNN_TRY(check_pages(map, err));
    GNN_TRY(check_size(map, err));
    struct gnn_thread *self = measured_self(measured_of(w));
    struct measured_fault_timer timer;
    measured_fault_timer_start(self, &timer);
    gathering = map;
    atomic_signal_fence(memory_order_seq_cst);
    const uint64_t done = gather_rows(map, row_bytes, rows, count, dst, dst_stride_bytes);
    atomic_signal_fence(memory_order_seq_cst);
    gathering = NULL;
    (void)measured_fault_timer_stop(self, &timer);
    if (done < count)
        return gnn_fail(err, GNN_EFORMAT, "%s: row %u of %u bytes was asked for, the file holds %llu", map->file->path,
                        rows[done], row_bytes, (unsigned long long)(map->size_bytes / row_bytes));
    return check_pages(map, err);
}

static uint64_t put_rows(const struct gnn_map *map, uint32_t row_bytes, const gnn_node *rows, uint64_t count,
                         const unsigned char *src)
{
    const uint64_t row_count = map->size_bytes / row_bytes;
    for (uint64_t i = 0; i < count; i++) {
        if (rows[i] >= row_count)
            return i;
        memcpy(map->base + (uint64_t)rows[i] * row_bytes, src + i * row_bytes, row_bytes);
    }
    return count;
}

enum gnn_status measured_map_put_rows(struct gnn_world *w, struct gnn_map *map, uint32_t row_bytes,
                                      const gnn_node *rows, uint64_t count, const void *src, struct gnn_err *err)
{
    assert(row_bytes > 0);
    if (!map->writable)
        return gnn_fail(err, GNN_EPERM, "%s: mapped for reading; open the file for writing", map->file->path);
    GNN_TRY(check_pages(map, err));
    GNN_TRY(check_size(map, err));
    struct gnn_thread *self = measured_self(measured_of(w));
    struct measured_fault_timer timer;
    measured_fault_timer_start(self, &timer);
    gathering = map;
    atomic_signal_fence(memory_order_seq_cst);
    const uint64_t done = put_rows(map, row_bytes, rows, count, src);
    atomic_signal_fence(memory_order_seq_cst);
    gathering = NULL;
    measured_fault_timer_stop(self, &timer);
    if (done < count)
        return gnn_fail(err, GNN_EFORMAT, "%s: row %u of %u bytes was to be written, the file holds %llu",
                        map->file->path, rows[done], row_bytes, (unsigned long long)(map->size_bytes / row_bytes));
    return check_pages(map, err);
}
