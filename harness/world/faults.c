/* SPDX-License-Identifier: MIT */
#include "harness/world/faults.h"

#include "harness/base/rng.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { REPEAT_COUNTERS = 1 << 14 };

struct faulty {
    struct gnn_world base; /* its state is the inner world's: the hooks that are not decorated are the inner ones */
    struct gnn_world_ops ops;
    struct gnn_world *inner;
    struct gnn_fault_plan plan;
    atomic_uint repeats[REPEAT_COUNTERS]; /* how often an operation came before, by its key's hash */
    atomic_uint_fast64_t reads, eio, again, shortened, slow;
    atomic_uint_fast64_t writes, written_bytes; /* of the disk: written, or on their way through a ring */
    atomic_uint_fast64_t writes_refused, writes_shortened, writes_eio, writes_again, writes_slow;
    atomic_uint_fast64_t allocs, allocs_refused;
};

static struct faulty *faulty_of(struct gnn_world *w)
{
    return (struct faulty *)w;
}

static struct gnn_world *inner_of(struct gnn_world *w)
{
    return faulty_of(w)->inner;
}

/* ---- decisions ---- */

struct verdict {
    int error;          /* a negated errno instead of the operation, or 0 */
    uint64_t len_bytes; /* to move: the whole, or less */
    bool slow;
};

/* Draws of one operation, whichever thread issues it. */
static struct gnn_rng draws_of(struct faulty *f, const struct gnn_file *file, uint64_t offset_bytes, uint64_t len_bytes)
{
    const char *const path = gnn_file_path(f->inner, file);
    const char *const slash = strrchr(path, '/');
    uint64_t key = gnn_rng_fork(f->plan.seed, slash == NULL ? path : slash + 1);
    key = gnn_rng_fold(gnn_rng_fold(key, offset_bytes), len_bytes);
    const unsigned before = atomic_fetch_add(&f->repeats[key % REPEAT_COUNTERS], 1);
    return gnn_rng_at(gnn_rng_fold(key, before));
}

/* A proper part of len_bytes in whole alignment units; len_bytes when there is none. */
static uint64_t part_of(struct faulty *f, const struct gnn_file *file, uint64_t len_bytes, struct gnn_rng *rng)
{
    struct gnn_file_info info;
    gnn_file_info(f->inner, file, &info);
    const uint64_t unit = info.offset_align_bytes;
    const uint64_t units = (len_bytes - 1) / unit; /* the most that is still short */
    return units == 0 ? len_bytes : (1 + gnn_rng_below(rng, units)) * unit;
}

static struct verdict judge_read(struct faulty *f, const struct gnn_file *file, uint64_t offset_bytes,
                                 uint64_t len_bytes)
{
    struct verdict verdict = {.len_bytes = len_bytes};
    struct gnn_rng rng = draws_of(f, file, offset_bytes, len_bytes);
    const bool is_nth = atomic_fetch_add(&f->reads, 1) + 1 == f->plan.read_eio_at;
    if (gnn_rng_unit(&rng) < f->plan.read_slow_probability) {
        verdict.slow = true;
        atomic_fetch_add(&f->slow, 1);
    }
    const double draw = gnn_rng_unit(&rng);
    const double eio = f->plan.read_eio_probability;
    const double again = eio + f->plan.read_again_probability;
    if (is_nth || draw < eio) {
        verdict.error = -EIO;
        atomic_fetch_add(&f->eio, 1);
    } else if (draw < again) {
        verdict.error = gnn_rng_below(&rng, 2) == 0 ? -EAGAIN : -EINTR;
        atomic_fetch_add(&f->again, 1);
    } else if (len_bytes > 0 && draw < again + f->plan.read_short_probability) {
        verdict.len_bytes = part_of(f, file, len_bytes, &rng);
        atomic_fetch_add(&f->shortened, verdict.len_bytes < len_bytes);
    }
    return verdict;
}

/* Takes len_bytes of the disk; false where so many do not fit any more. */
static bool take_room(struct faulty *f, uint64_t len_bytes)
{
    const uint64_t before = atomic_fetch_add(&f->written_bytes, len_bytes);
    if (!f->plan.write_enospc || before + len_bytes <= f->plan.write_enospc_after_bytes)
        return true;
    atomic_fetch_sub(&f->written_bytes, len_bytes);
    return false;
}

/* The failure of a write by `draw`, or 0: errors come after the share of short writes. */
static int write_error(struct faulty *f, double draw, struct gnn_rng *rng)
{
    const bool is_nth = atomic_fetch_add(&f->writes, 1) + 1 == f->plan.write_eio_at;
    const double shortened = f->plan.write_short_probability;
    const double eio = shortened + f->plan.write_eio_probability;
    if (is_nth || (draw >= shortened && draw < eio)) {
        atomic_fetch_add(&f->writes_eio, 1);
        return -EIO;
    }
    if (draw >= eio && draw < eio + f->plan.write_again_probability) {
        atomic_fetch_add(&f->writes_again, 1);
        return gnn_rng_below(rng, 2) == 0 ? -EAGAIN : -EINTR;
    }
    return 0;
}

/* Of a write that goes through, verdict.len_bytes are taken of the disk. */
static struct verdict judge_write(struct faulty *f, const struct gnn_file *file, uint64_t offset_bytes,
                                  uint64_t len_bytes)
{
    struct verdict verdict = {.len_bytes = len_bytes};
    struct gnn_rng rng = draws_of(f, file, offset_bytes, len_bytes);
    const double draw = gnn_rng_unit(&rng);
    verdict.error = write_error(f, draw, &rng);
    if (verdict.error == 0 && !take_room(f, len_bytes)) {
        verdict.error = -ENOSPC;
        atomic_fetch_add(&f->writes_refused, 1);
    }
    if (verdict.error == 0 && len_bytes > 0 && draw < f->plan.write_short_probability) {
        verdict.len_bytes = part_of(f, file, len_bytes, &rng);
        atomic_fetch_add(&f->writes_shortened, verdict.len_bytes < len_bytes);
        atomic_fetch_sub(&f->written_bytes, len_bytes - verdict.len_bytes);
    }
    if (gnn_rng_unit(&rng) < f->plan.write_slow_probability) {
        verdict.slow = true;
        atomic_fetch_add(&f->writes_slow, 1);
    }
    return verdict;
}

/* Gives back what a write took of the disk and did not write. */
static void give_back(struct faulty *f, uint64_t taken_bytes, int64_t moved)
{
    const uint64_t written = moved > 0 ? (uint64_t)moved : 0;
    assert(written <= taken_bytes);
    atomic_fetch_sub(&f->written_bytes, taken_bytes - written);
}

static void be_slow(struct faulty *f)
{
    gnn_sleep_until(f->inner, gnn_now_ns(f->inner) + f->plan.slow_ns, GNN_WAIT_IO);
}

/* ---- single reads and writes, memory, mappings ---- */

static int64_t faulty_file_read(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, void *dst,
                                uint64_t len_bytes, const struct gnn_ids_wanted *wanted)
{
    struct faulty *f = faulty_of(w);
    const struct verdict verdict = judge_read(f, file, offset_bytes, len_bytes);
    if (verdict.slow)
        be_slow(f);
    if (verdict.error != 0)
        return verdict.error;
    return gnn_file_read_ids(f->inner, file, offset_bytes, dst, verdict.len_bytes, wanted);
}

static int64_t faulty_file_write(struct gnn_world *w, struct gnn_file *file, uint64_t offset_bytes, const void *src,
                                 uint64_t len_bytes)
{
    struct faulty *f = faulty_of(w);
    const struct verdict verdict = judge_write(f, file, offset_bytes, len_bytes);
    if (verdict.slow)
        be_slow(f);
    if (verdict.error != 0)
        return verdict.error;
    const int64_t moved = gnn_file_write(f->inner, file, offset_bytes, src, verdict.len_bytes);
    give_back(f, verdict.len_bytes, moved);
    return moved;
}

static enum gnn_status faulty_mem_alloc(struct gnn_world *w, const char *name, uint64_t bytes, unsigned flags,
                                        void **out, struct gnn_err *err)
{
    struct faulty *f = faulty_of(w);
    *out = NULL;
    const uint64_t nth = atomic_fetch_add(&f->allocs, 1) + 1;
    struct gnn_rng rng = gnn_rng_at(gnn_rng_fold(gnn_rng_fork(f->plan.seed, "alloc"), nth));
    if (nth == f->plan.alloc_fail_at || gnn_rng_unit(&rng) < f->plan.alloc_fail_probability) {
        atomic_fetch_add(&f->allocs_refused, 1);
        return gnn_fail(err, GNN_ENOMEM, "%s: %llu bytes: injected failure of allocation %llu", name,
                        (unsigned long long)bytes, (unsigned long long)nth);
    }
    return gnn_mem_alloc(f->inner, name, bytes, flags, out, err);
}

/* What struct gnn_map * means in this world: the inner mapping and its file. */
struct faulty_map {
    struct gnn_map *inner;
    struct gnn_file *file;
};

static enum gnn_status faulty_map_open(struct gnn_world *w, struct gnn_file *file, enum gnn_map_advice advice,
                                       struct gnn_map **out, struct gnn_err *err)
{
    *out = NULL;
    struct faulty_map *map;
    GNN_NEW(map, 1, err, "%s: a mapping handle, %zu bytes", gnn_file_path(inner_of(w), file), sizeof *map);
    map->file = file;
    const enum gnn_status status = gnn_map_open(inner_of(w), file, advice, &map->inner, err);
    if (status == GNN_OK)
        *out = (struct gnn_map *)map;
    else
        free(map);
    return status;
}

static void faulty_map_close(struct gnn_world *w, struct gnn_map *handle)
{
    struct faulty_map *map = (struct faulty_map *)handle;
    if (map != NULL)
        gnn_map_close(inner_of(w), map->inner);
    free(map);
}

/* A mapping has no short or repeated reads: it faults a page in, late or not at all. */
static enum gnn_status judge_gather(struct faulty *f, const struct faulty_map *map, uint64_t offset_bytes,
                                    uint64_t len_bytes, struct gnn_err *err)
{
    const struct verdict verdict = judge_read(f, map->file, offset_bytes, len_bytes);
    if (verdict.slow)
        be_slow(f);
    if (verdict.error == -EIO)
        return gnn_fail(err, GNN_EIO, "%s: the page at offset %llu cannot be read: injected failure",
                        gnn_file_path(f->inner, map->file), (unsigned long long)offset_bytes);
    return GNN_OK;
}

static enum gnn_status faulty_map_gather_ids(struct gnn_world *w, struct gnn_map *handle, uint32_t id_bytes,
                                             const uint64_t *index, uint64_t count, uint32_t *out, struct gnn_err *err)
{
    const struct faulty_map *map = (const struct faulty_map *)handle;
    if (count > 0)
        GNN_TRY(judge_gather(faulty_of(w), map, index[0] * id_bytes, count * id_bytes, err));
    return gnn_map_gather_ids(inner_of(w), map->inner, id_bytes, index, count, out, err);
}

static enum gnn_status faulty_map_gather_rows(struct gnn_world *w, struct gnn_map *handle, uint32_t row_bytes,
                                              const gnn_node *rows, uint64_t count, void *dst,
                                              uint64_t dst_stride_bytes, struct gnn_err *err)
{
    const struct faulty_map *map = (const struct faulty_map *)handle;
    if (count > 0)
        GNN_TRY(judge_gather(faulty_of(w), map, (uint64_t)rows[0] * row_bytes, count * row_bytes, err));
    return gnn_map_gather_rows(inner_of(w), map->inner, row_bytes, rows, count, dst, dst_stride_bytes, err);
}

static enum gnn_status faulty_map_put_rows(struct gnn_world *w, struct gnn_map *handle, uint32_t row_bytes,
                                           const gnn_node *rows, uint64_t count, const void *src, struct gnn_err *err)
{
    const struct faulty_map *map = (const struct faulty_map *)handle;
    if (count > 0)
        GNN_TRY(judge_gather(faulty_of(w), map, (uint64_t)rows[0] * row_bytes, count * row_bytes, err));
    return gnn_map_put_rows(inner_of(w), map->inner, row_bytes, rows, count, src, err);
}

/* ---- rings ---- */

enum slot_state { SLOT_FREE, SLOT_IN_INNER, SLOT_HELD };

/* One read or write handed over; the inner ring's tag is its index. */
struct slot {
    enum slot_state state;
    int32_t result;
    uint32_t taken_bytes; /* of the disk, by a write on its way */
    uint64_t tag;
    uint64_t due_ns; /* held: leaves not before */
};

/* What struct gnn_ring * means in this world. Owner only, as every ring. */
struct faulty_ring {
    struct gnn_ring *inner;
    uint32_t depth;
    uint32_t in_inner, held;
    struct gnn_rng shuffle;
    struct slot *slots; /* (depth) */
};

static void faulty_ring_close(struct gnn_world *w, struct gnn_ring *handle)
{
    struct faulty_ring *ring = (struct faulty_ring *)handle;
    if (ring == NULL)
        return;
    gnn_ring_close(inner_of(w), ring->inner);
    free(ring->slots);
    free(ring);
}

static enum gnn_status faulty_ring_open(struct gnn_world *w, const struct gnn_ring_config *config,
                                        struct gnn_ring **out, struct gnn_err *err)
{
    *out = NULL;
    struct faulty_ring *ring;
    GNN_NEW(ring, 1, err, "ring handle: %zu bytes", sizeof *ring);
    ring->depth = config->depth;
    ring->shuffle = gnn_rng_at(gnn_rng_fork(faulty_of(w)->plan.seed, "shuffle"));
    ring->slots = calloc((size_t)config->depth + 1, sizeof *ring->slots);
    const enum gnn_status status = ring->slots == NULL ? gnn_fail(err, GNN_ENOMEM, "ring of depth %u", config->depth)
                                                       : gnn_ring_open(inner_of(w), config, &ring->inner, err);
    if (status == GNN_OK)
        *out = (struct gnn_ring *)ring;
    else
        faulty_ring_close(w, (struct gnn_ring *)ring);
    return status;
}

/* Fills a slot; *held where a failure was injected in the operation's place, which then waits there to be taken. */
static void fill_slot(struct faulty *f, struct faulty_ring *ring, struct slot *slot, const struct verdict *verdict,
                      uint64_t tag, bool *held)
{
    const uint64_t due_ns = verdict->slow ? gnn_now_ns(f->inner) + f->plan.slow_ns : 0;
    *held = verdict->error != 0;
    *slot = (struct slot){
        .tag = tag, .due_ns = due_ns, .result = verdict->error, .state = *held ? SLOT_HELD : SLOT_IN_INNER};
    ring->held += *held ? 1 : 0;
}

/* Hands one read to the inner ring, or holds the failure injected in its place. *taken: it has left the caller. */
static enum gnn_status submit_one(struct faulty *f, struct faulty_ring *ring, const struct gnn_read *read,
                                  uint32_t index, bool *taken, struct gnn_err *err)
{
    const struct verdict verdict = judge_read(f, read->file, read->offset_bytes, read->len_bytes);
    struct slot *slot = &ring->slots[index];
    fill_slot(f, ring, slot, &verdict, read->tag, taken);
    if (*taken)
        return GNN_OK;
    struct gnn_read passed = *read;
    passed.tag = index;
    passed.len_bytes = (uint32_t)verdict.len_bytes;
    uint32_t accepted = 0;
    const enum gnn_status status = gnn_ring_submit(f->inner, ring->inner, &passed, 1, &accepted, err);
    *taken = accepted == 1;
    slot->state = *taken ? SLOT_IN_INNER : SLOT_FREE;
    ring->in_inner += accepted;
    return status;
}

/* As submit_one. */
static enum gnn_status submit_one_write(struct faulty *f, struct faulty_ring *ring, const struct gnn_write *write,
                                        uint32_t index, bool *taken, struct gnn_err *err)
{
    const struct verdict verdict = judge_write(f, write->file, write->offset_bytes, write->len_bytes);
    struct slot *slot = &ring->slots[index];
    fill_slot(f, ring, slot, &verdict, write->tag, taken);
    if (*taken)
        return GNN_OK;
    struct gnn_write passed = *write;
    passed.tag = index;
    passed.len_bytes = (uint32_t)verdict.len_bytes;
    slot->taken_bytes = passed.len_bytes;
    uint32_t accepted = 0;
    const enum gnn_status status = gnn_ring_submit_writes(f->inner, ring->inner, &passed, 1, &accepted, err);
    *taken = accepted == 1;
    slot->state = *taken ? SLOT_IN_INNER : SLOT_FREE;
    ring->in_inner += accepted;
    if (!*taken)
        give_back(f, slot->taken_bytes, 0);
    return status;
}

static enum gnn_status faulty_ring_submit(struct gnn_world *w, struct gnn_ring *handle, const struct gnn_read *reads,
                                          uint32_t count, uint32_t *accepted, struct gnn_err *err)
{
    struct faulty_ring *ring = (struct faulty_ring *)handle;
    *accepted = 0;
    for (uint32_t index = 0; index < ring->depth && *accepted < count; index++) {
        if (ring->slots[index].state != SLOT_FREE)
            continue;
        bool taken;
        GNN_TRY(submit_one(faulty_of(w), ring, &reads[*accepted], index, &taken, err));
        if (!taken)
            break;
        ++*accepted;
    }
    return GNN_OK;
}

static enum gnn_status faulty_ring_submit_writes(struct gnn_world *w, struct gnn_ring *handle,
                                                 const struct gnn_write *writes, uint32_t count, uint32_t *accepted,
                                                 struct gnn_err *err)
{
    struct faulty_ring *ring = (struct faulty_ring *)handle;
    *accepted = 0;
    for (uint32_t index = 0; index < ring->depth && *accepted < count; index++) {
        if (ring->slots[index].state != SLOT_FREE)
            continue;
        bool taken;
        GNN_TRY(submit_one_write(faulty_of(w), ring, &writes[*accepted], index, &taken, err));
        if (!taken)
            break;
        ++*accepted;
    }
    return GNN_OK;
}

/* Moves what the inner ring has completed (at least `min`) to the held ones. */
static enum gnn_status collect(struct faulty *f, struct faulty_ring *ring, uint32_t min, struct gnn_err *err)
{
    struct gnn_completion completions[64];
    uint32_t got = 0;
    if (ring->in_inner == 0)
        return GNN_OK;
    GNN_TRY(gnn_ring_wait(f->inner, ring->inner, min, 64, completions, &got, err));
    for (uint32_t i = 0; i < got; i++) {
        assert(completions[i].tag < ring->depth);
        struct slot *slot = &ring->slots[completions[i].tag];
        assert(slot->state == SLOT_IN_INNER);
        slot->state = SLOT_HELD;
        slot->result = completions[i].result;
        if (slot->taken_bytes > 0)
            give_back(f, slot->taken_bytes, slot->result);
    }
    ring->in_inner -= got;
    ring->held += got;
    return GNN_OK;
}

/* Releases up to `max` held slots whose time has come, from a random one onwards when shuffling. */
static uint32_t release(struct faulty *f, struct faulty_ring *ring, uint32_t max, struct gnn_completion *out)
{
    const uint64_t now_ns = gnn_now_ns(f->inner);
    const uint32_t start = f->plan.shuffle ? (uint32_t)gnn_rng_below(&ring->shuffle, ring->depth) : 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ring->depth && count < max; i++) {
        struct slot *slot = &ring->slots[(start + i) % ring->depth];
        if (slot->state != SLOT_HELD || slot->due_ns > now_ns)
            continue;
        out[count++] = (struct gnn_completion){.tag = slot->tag, .result = slot->result};
        slot->state = SLOT_FREE;
    }
    assert(count <= ring->held);
    ring->held -= count;
    return count;
}

static uint64_t earliest_due_ns(const struct faulty_ring *ring)
{
    uint64_t earliest = UINT64_MAX;
    for (uint32_t i = 0; i < ring->depth; i++)
        if (ring->slots[i].state == SLOT_HELD && ring->slots[i].due_ns < earliest)
            earliest = ring->slots[i].due_ns;
    return earliest;
}

static enum gnn_status faulty_ring_wait(struct gnn_world *w, struct gnn_ring *handle, uint32_t min, uint32_t max,
                                        struct gnn_completion *out, uint32_t *got, struct gnn_err *err)
{
    struct faulty *f = faulty_of(w);
    struct faulty_ring *ring = (struct faulty_ring *)handle;
    assert(min <= ring->in_inner + ring->held);
    *got = 0;
    for (;;) {
        GNN_TRY(collect(f, ring, 0, err));
        *got += release(f, ring, max - *got, out + *got);
        if (*got >= min)
            return GNN_OK;
        if (ring->in_inner > 0)
            GNN_TRY(collect(f, ring, 1, err));
        else
            gnn_sleep_until(f->inner, earliest_due_ns(ring), GNN_WAIT_IO);
    }
}

/* ---- open, close ---- */

enum gnn_status gnn_world_faulty_open(struct gnn_world *inner, const struct gnn_fault_plan *plan,
                                      struct gnn_world **out, struct gnn_err *err)
{
    *out = NULL;
    struct faulty *f;
    GNN_NEW(f, 1, err, "the faulty world: %zu bytes", sizeof *f);
    f->ops = *inner->ops;
    f->ops.name = "faulty";
    f->ops.mem_alloc = faulty_mem_alloc;
    f->ops.file_read = faulty_file_read;
    f->ops.file_write = faulty_file_write;
    f->ops.map_open = faulty_map_open;
    f->ops.map_gather_ids = faulty_map_gather_ids;
    f->ops.map_gather_rows = faulty_map_gather_rows;
    f->ops.map_put_rows = faulty_map_put_rows;
    f->ops.map_close = faulty_map_close;
    f->ops.ring_open = faulty_ring_open;
    f->ops.ring_submit = faulty_ring_submit;
    f->ops.ring_submit_writes = faulty_ring_submit_writes;
    f->ops.ring_wait = faulty_ring_wait;
    f->ops.ring_close = faulty_ring_close;
    f->base = (struct gnn_world){.ops = &f->ops, .state = inner->state};
    f->inner = inner;
    f->plan = *plan;
    *out = &f->base;
    return GNN_OK;
}

void gnn_world_faulty_close(struct gnn_world *world)
{
    free(world == NULL ? NULL : faulty_of(world));
}

void gnn_world_faulty_counts(struct gnn_world *world, struct gnn_fault_counts *out)
{
    struct faulty *f = faulty_of(world);
    *out = (struct gnn_fault_counts){.reads = atomic_load(&f->reads),
                                     .eio = atomic_load(&f->eio),
                                     .again = atomic_load(&f->again),
                                     .shortened = atomic_load(&f->shortened),
                                     .slow = atomic_load(&f->slow),
                                     .writes = atomic_load(&f->writes),
                                     .writes_refused = atomic_load(&f->writes_refused),
                                     .writes_shortened = atomic_load(&f->writes_shortened),
                                     .writes_eio = atomic_load(&f->writes_eio),
                                     .writes_again = atomic_load(&f->writes_again),
                                     .writes_slow = atomic_load(&f->writes_slow),
                                     .allocs_refused = atomic_load(&f->allocs_refused)};
}
