/* SPDX-License-Identifier: MIT */
#include "systems/mariusgnn/partition_buffer.h"

#include "harness/storage/exact.h"
#include "harness/storage/reader.h"
#include "systems/mariusgnn/policy.h"

#include <assert.h>

enum { PIECE_BYTES = 1 << 20, LOADS_MAX = 256 };

/* Memory for some partitions: the slots themselves, or one of the two blocks. */
struct shelf {
    uint32_t count;
    uint32_t *partition;                    /* (count) MARIUS_NONE: nothing */
    bool *dirty;                            /* (count, arrays) */
    unsigned char *rows[MARIUS_ARRAYS_MAX]; /* (count, slot_bytes) */
};

struct marius_partition_buffer {
    struct gnn_world *world;
    struct marius_buffer_config config;
    struct shelf slots;
    struct shelf ahead; /* lookahead block */
    struct shelf back;  /* write-back block */
    struct gnn_reader *reader;
    struct gnn_load loads[LOADS_MAX];
    uint32_t load_count;
    bool written[MARIUS_ARRAYS_MAX];        /* since the last sync */
    struct marius_buffer_counters counters; /* of reads by who reads, of writes by who writes */

    struct gnn_mutex *mutex; /* over back.partition and cancelled: what is still being written */
    struct gnn_cond *cond;
    bool cancelled;
};

/* ---- shelves ---- */

static enum gnn_status shelf_open(struct marius_partition_buffer *buffer, uint32_t count, struct shelf *shelf,
                                  struct gnn_err *err)
{
    shelf->count = count;
    GNN_NEW(shelf->partition, count, err, "partitions of the buffer");
    GNN_NEW(shelf->dirty, (size_t)count * MARIUS_ARRAYS_MAX, err, "changes in the buffer");
    for (uint32_t i = 0; i < count; i++)
        shelf->partition[i] = MARIUS_NONE;
    for (uint32_t a = 0; a < buffer->config.array_count; a++) {
        const struct marius_array *const array = &buffer->config.arrays[a];
        GNN_MEM_NEW(buffer->world, shelf->rows[a], gnn_mul_bytes(count, array->slot_bytes), array->name,
                    array->mem_flags, err);
    }
    return GNN_OK;
}

static void shelf_close(struct gnn_world *world, struct shelf *shelf)
{
    for (uint32_t a = 0; a < MARIUS_ARRAYS_MAX; a++)
        gnn_mem_free(world, shelf->rows[a]);
    free(shelf->dirty);
    free(shelf->partition);
}

static unsigned char *rows_of(const struct marius_partition_buffer *buffer, const struct shelf *shelf, uint32_t array,
                              uint32_t i)
{
    assert(i < shelf->count);
    return shelf->rows[array] + i * buffer->config.arrays[array].slot_bytes;
}

static bool *dirty_of(const struct shelf *shelf, uint32_t i)
{
    return shelf->dirty + (size_t)i * MARIUS_ARRAYS_MAX;
}

/* ---- open ---- */

static enum gnn_status open_parts(struct marius_partition_buffer *buffer, struct gnn_err *err)
{
    struct gnn_world *const world = buffer->world;
    struct gnn_file *files[MARIUS_ARRAYS_MAX];
    for (uint32_t a = 0; a < buffer->config.array_count; a++)
        files[a] = buffer->config.arrays[a].file;
    const struct gnn_reader_config reader = {.engine = buffer->config.engine,
                                             .depth = buffer->config.depth,
                                             .files = files,
                                             .file_count = buffer->config.array_count};
    GNN_TRY(gnn_mutex_open(world, &buffer->mutex, err));
    GNN_TRY(gnn_cond_open(world, &buffer->cond, err));
    GNN_TRY(gnn_reader_open(world, &reader, &buffer->reader, err));
    GNN_TRY(shelf_open(buffer, buffer->config.slots, &buffer->slots, err));
    if (!buffer->config.prefetch)
        return GNN_OK;
    GNN_TRY(shelf_open(buffer, buffer->config.group, &buffer->ahead, err));
    return shelf_open(buffer, buffer->config.group, &buffer->back, err);
}

enum gnn_status marius_buffer_open(struct gnn_world *world, const struct marius_buffer_config *config,
                                   struct marius_partition_buffer **out, struct gnn_err *err)
{
    struct marius_partition_buffer *buffer;
    assert(config->array_count >= 1);
    assert(config->array_count <= MARIUS_ARRAYS_MAX);
    GNN_NEW(buffer, 1, err, "partition buffer");
    buffer->world = world;
    buffer->config = *config;
    *out = buffer;
    return open_parts(buffer, err);
}

void marius_buffer_close(struct marius_partition_buffer *buffer)
{
    if (buffer == NULL)
        return;
    gnn_reader_close(buffer->reader);
    shelf_close(buffer->world, &buffer->back);
    shelf_close(buffer->world, &buffer->ahead);
    shelf_close(buffer->world, &buffer->slots);
    gnn_cond_close(buffer->world, buffer->cond);
    gnn_mutex_close(buffer->world, buffer->mutex);
    free(buffer);
}

uint64_t marius_buffer_bytes(const struct marius_buffer_config *config)
{
    const uint64_t slots = config->slots + (config->prefetch ? UINT64_C(2) * config->group : 0);
    uint64_t bytes = 0;
    for (uint32_t a = 0; a < config->array_count; a++)
        bytes = gnn_add_bytes(bytes, gnn_mul_bytes(slots, config->arrays[a].slot_bytes));
    return bytes;
}

uint64_t marius_buffer_slots_bytes(const struct marius_partition_buffer *buffer)
{
    struct marius_buffer_config slots = buffer->config;
    slots.prefetch = false;
    return marius_buffer_bytes(&slots);
}

void *marius_buffer_slot(const struct marius_partition_buffer *buffer, uint32_t array, uint32_t slot)
{
    return rows_of(buffer, &buffer->slots, array, slot);
}

uint32_t marius_buffer_partition(const struct marius_partition_buffer *buffer, uint32_t slot)
{
    assert(slot < buffer->config.slots);
    return buffer->slots.partition[slot];
}

void marius_buffer_touch(struct marius_partition_buffer *buffer, uint32_t array, uint32_t slot)
{
    assert(array < buffer->config.array_count);
    assert(buffer->slots.partition[slot] != MARIUS_NONE);
    dirty_of(&buffer->slots, slot)[array] = true;
}

/* ---- places ---- */

uint64_t marius_array_offset_bytes(const struct marius_array *array, uint32_t partition)
{
    const struct marius_places *const places = array->places;
    uint64_t at = partition;
    if (places != NULL && places->now[partition] != 0)
        at += places->partitions;
    return at * array->slot_bytes;
}

/* Turns to the place of the partition that may be written over. */
static void leave_kept(const struct marius_array *array, uint32_t partition)
{
    const struct marius_places *const places = array->places;
    if (places != NULL && places->now[partition] == places->kept[partition])
        places->now[partition] = !places->kept[partition];
}

/* ---- reading ---- */

static enum gnn_status flush_loads(struct marius_partition_buffer *buffer, struct gnn_err *err)
{
    const uint32_t count = buffer->load_count;
    buffer->load_count = 0;
    return gnn_reader_load_all(buffer->reader, buffer->loads, count, NULL, NULL, err);
}

/* Queues the reads of a partition into place i of a shelf. */
static enum gnn_status load_partition(struct marius_partition_buffer *buffer, struct shelf *shelf, uint32_t i,
                                      struct gnn_err *err)
{
    for (uint32_t a = 0; a < buffer->config.array_count; a++) {
        const uint64_t slot_bytes = buffer->config.arrays[a].slot_bytes;
        const uint64_t first = marius_array_offset_bytes(&buffer->config.arrays[a], shelf->partition[i]);
        for (uint64_t at = 0; at < slot_bytes; at += PIECE_BYTES) {
            const uint32_t len_bytes = (uint32_t)gnn_min_u64(slot_bytes - at, PIECE_BYTES);
            if (buffer->load_count == LOADS_MAX)
                GNN_TRY(flush_loads(buffer, err));
            buffer->loads[buffer->load_count++] = (struct gnn_load){.file = a,
                                                                    .len_bytes = len_bytes,
                                                                    .offset_bytes = first + at,
                                                                    .dst = rows_of(buffer, shelf, a, i) + at};
            buffer->counters.read_bytes += len_bytes;
            buffer->counters.reads++;
        }
        dirty_of(shelf, i)[a] = false;
    }
    buffer->counters.read_partitions++;
    return GNN_OK;
}

/* ---- writing ---- */

static bool has_to_be_written(const struct marius_partition_buffer *buffer, const struct shelf *shelf, uint32_t i,
                              uint32_t array)
{
    return shelf->partition[i] != MARIUS_NONE && (buffer->config.always_write || dirty_of(shelf, i)[array]);
}

static enum gnn_status write_partition(struct marius_partition_buffer *buffer, struct shelf *shelf, uint32_t i,
                                       struct gnn_err *err)
{
    bool any = false;
    for (uint32_t a = 0; a < buffer->config.array_count; a++) {
        const struct marius_array *const array = &buffer->config.arrays[a];
        if (!has_to_be_written(buffer, shelf, i, a))
            continue;
        leave_kept(array, shelf->partition[i]);
        GNN_TRY(gnn_write_all(buffer->world, array->file, marius_array_offset_bytes(array, shelf->partition[i]),
                              rows_of(buffer, shelf, a, i), array->slot_bytes, err));
        dirty_of(shelf, i)[a] = false;
        buffer->written[a] = any = true;
        buffer->counters.written_bytes += array->slot_bytes;
    }
    buffer->counters.written_partitions += any;
    return GNN_OK;
}

/* ---- at once ---- */

/* Writes what a slot holds, if it has to be, and gives the slot to another partition, which is to be read. */
static enum gnn_status replace(struct marius_partition_buffer *buffer, uint32_t slot, uint32_t entering,
                               struct gnn_err *err)
{
    GNN_TRY(write_partition(buffer, &buffer->slots, slot, err));
    buffer->counters.left_partitions += buffer->slots.partition[slot] != MARIUS_NONE;
    buffer->slots.partition[slot] = entering;
    return entering == MARIUS_NONE ? GNN_OK : load_partition(buffer, &buffer->slots, slot, err);
}

/* After an error no slot is believed to hold anything. */
static enum gnn_status forget_on_error(struct marius_partition_buffer *buffer, enum gnn_status status)
{
    for (uint32_t i = 0; status != GNN_OK && i < buffer->slots.count; i++)
        buffer->slots.partition[i] = MARIUS_NONE;
    if (status != GNN_OK)
        buffer->load_count = 0;
    return status;
}

enum gnn_status marius_buffer_fill(struct marius_partition_buffer *buffer, const uint32_t *partitions, bool keep,
                                   struct gnn_err *err)
{
    enum gnn_status status = GNN_OK;
    buffer->cancelled = false;
    for (uint32_t i = 0; i < buffer->back.count; i++) /* of an epoch that failed */
        buffer->back.partition[i] = MARIUS_NONE;
    for (uint32_t i = 0; status == GNN_OK && i < buffer->slots.count; i++)
        if (!keep || buffer->slots.partition[i] != partitions[i])
            status = replace(buffer, i, partitions[i], err);
    GNN_NEXT(status, flush_loads(buffer, err));
    return forget_on_error(buffer, status);
}

enum gnn_status marius_buffer_exchange(struct marius_partition_buffer *buffer, uint32_t first, const uint32_t *entering,
                                       uint32_t count, struct gnn_err *err)
{
    enum gnn_status status = GNN_OK;
    assert(count <= buffer->config.group);
    for (uint32_t i = 0; status == GNN_OK && i < count; i++)
        status = replace(buffer, first + i, entering[i], err);
    GNN_NEXT(status, flush_loads(buffer, err));
    return forget_on_error(buffer, status);
}

/* ---- prefetching ---- */

static bool is_being_written(const struct marius_partition_buffer *buffer, uint32_t partition)
{
    for (uint32_t i = 0; i < buffer->back.count; i++)
        if (buffer->back.partition[i] == partition)
            return true;
    return false;
}

/* Sleeps while the partition is being written. */
static enum gnn_status wait_until_written(struct marius_partition_buffer *buffer, uint32_t partition)
{
    struct gnn_world *const world = buffer->world;
    gnn_mutex_lock(world, buffer->mutex);
    while (!buffer->cancelled && is_being_written(buffer, partition))
        (void)gnn_cond_wait(world, buffer->cond, buffer->mutex, GNN_NO_DEADLINE, GNN_WAIT_RESOURCE);
    const bool cancelled = buffer->cancelled;
    gnn_mutex_unlock(world, buffer->mutex);
    return cancelled ? GNN_ECANCELLED : GNN_OK;
}

enum gnn_status marius_buffer_look_ahead(struct marius_partition_buffer *buffer, const uint32_t *entering,
                                         uint32_t count, struct gnn_err *err)
{
    assert(buffer->config.prefetch);
    assert(count <= buffer->config.group);
    for (uint32_t i = 0; i < count; i++) {
        buffer->ahead.partition[i] = entering[i];
        if (entering[i] == MARIUS_NONE)
            continue;
        GNN_TRY(wait_until_written(buffer, entering[i]));
        GNN_TRY(load_partition(buffer, &buffer->ahead, i, err));
    }
    return flush_loads(buffer, err);
}

static void move(struct marius_partition_buffer *buffer, struct shelf *from, uint32_t i, struct shelf *to, uint32_t j)
{
    for (uint32_t a = 0; a < buffer->config.array_count; a++) {
        gnn_mem_copy(buffer->world, rows_of(buffer, to, a, j), rows_of(buffer, from, a, i),
                     buffer->config.arrays[a].slot_bytes);
        dirty_of(to, j)[a] = dirty_of(from, i)[a];
    }
    to->partition[j] = from->partition[i];
}

static bool any_has_to_be_written(const struct marius_partition_buffer *buffer, uint32_t slot)
{
    bool any = false;
    for (uint32_t a = 0; a < buffer->config.array_count; a++)
        any |= has_to_be_written(buffer, &buffer->slots, slot, a);
    return any;
}

void marius_buffer_turn(struct marius_partition_buffer *buffer, uint32_t first, uint32_t count)
{
    assert(buffer->config.prefetch);
    for (uint32_t i = 0; i < count; i++) {
        buffer->counters.left_partitions += buffer->slots.partition[first + i] != MARIUS_NONE;
        assert(buffer->back.partition[i] == MARIUS_NONE);
        if (any_has_to_be_written(buffer, first + i))
            move(buffer, &buffer->slots, first + i, &buffer->back, i);
        if (buffer->ahead.partition[i] != MARIUS_NONE)
            move(buffer, &buffer->ahead, i, &buffer->slots, first + i);
        else
            buffer->slots.partition[first + i] = MARIUS_NONE;
    }
}

enum gnn_status marius_buffer_write_back(struct marius_partition_buffer *buffer, struct gnn_err *err)
{
    for (uint32_t i = 0; i < buffer->back.count; i++) {
        GNN_TRY(write_partition(buffer, &buffer->back, i, err));
        gnn_mutex_lock(buffer->world, buffer->mutex);
        buffer->back.partition[i] = MARIUS_NONE;
        gnn_cond_broadcast(buffer->world, buffer->cond);
        gnn_mutex_unlock(buffer->world, buffer->mutex);
    }
    return GNN_OK;
}

void marius_buffer_cancel(void *target)
{
    struct marius_partition_buffer *const buffer = target;
    gnn_mutex_lock(buffer->world, buffer->mutex);
    buffer->cancelled = true;
    gnn_cond_broadcast(buffer->world, buffer->cond);
    gnn_mutex_unlock(buffer->world, buffer->mutex);
}

enum gnn_status marius_buffer_sync(struct marius_partition_buffer *buffer, struct gnn_err *err)
{
    for (uint32_t i = 0; i < buffer->slots.count; i++) {
        bool any = false;
        for (uint32_t a = 0; a < buffer->config.array_count; a++)
            any = any || dirty_of(&buffer->slots, i)[a];
        if (any)
            GNN_TRY(write_partition(buffer, &buffer->slots, i, err));
    }
    for (uint32_t a = 0; a < buffer->config.array_count; a++) {
        if (buffer->written[a])
            GNN_TRY(gnn_file_sync(buffer->world, buffer->config.arrays[a].file, err));
        buffer->written[a] = false;
    }
    return GNN_OK;
}

void marius_buffer_take_counters(struct marius_partition_buffer *buffer, struct marius_buffer_counters *out)
{
    *out = buffer->counters;
    buffer->counters = (struct marius_buffer_counters){.reads = 0};
}
