/* SPDX-License-Identifier: MIT */
#include "harness/storage/read_times.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* A tally that is lent: `taken` while somebody is joined. Never leaves its list before close. */
struct lent {
    struct gnn_read_tally tally; /* first: what is lent is the whole */
    atomic_bool taken;
    struct lent *next;
};
_Static_assert(offsetof(struct lent, tally) == 0, "a tally's address is its holder's");

struct gnn_read_times {
    _Atomic(struct lent *) first;
};

enum gnn_status gnn_read_times_open(struct gnn_read_times **out, struct gnn_err *err)
{
    GNN_NEW(*out, 1, err, "the times of reads");
    return GNN_OK;
}

void gnn_read_times_close(struct gnn_read_times *times)
{
    struct lent *next;
    for (struct lent *l = times == NULL ? NULL : atomic_load(&times->first); l != NULL; l = next) {
        assert(!atomic_load(&l->taken));
        next = l->next;
        free(l);
    }
    free(times);
}

/* Returns a tally that nobody has, now the caller's; NULL: all are taken. */
static struct lent *take_free(struct gnn_read_times *times)
{
    struct lent *l = atomic_load_explicit(&times->first, memory_order_acquire);
    while (l != NULL && (atomic_load_explicit(&l->taken, memory_order_relaxed) ||
                         atomic_exchange_explicit(&l->taken, true, memory_order_acquire)))
        l = l->next;
    return l;
}

enum gnn_status gnn_read_times_join(struct gnn_world *world, struct gnn_read_tally **out, struct gnn_err *err)
{
    struct gnn_read_times *const times = world->read_times;
    *out = NULL;
    if (times == NULL)
        return GNN_OK;
    struct lent *l = take_free(times);
    if (l == NULL) {
        GNN_NEW(l, 1, err, "the times of reads");
        atomic_store_explicit(&l->taken, true, memory_order_relaxed);
        l->next = atomic_load_explicit(&times->first, memory_order_relaxed);
        while (!atomic_compare_exchange_weak(&times->first, &l->next, l))
            continue; /* another came before: it is the next one now */
    }
    *out = &l->tally;
    return GNN_OK;
}

void gnn_read_times_leave(struct gnn_read_tally *tally)
{
    if (tally != NULL)
        atomic_store_explicit(&((struct lent *)tally)->taken, false, memory_order_release);
}

enum gnn_status gnn_read_times_note(struct gnn_world *world, uint64_t len_bytes, uint64_t ns, struct gnn_err *err)
{
    struct gnn_read_tally *tally;
    GNN_TRY(gnn_read_times_join(world, &tally, err));
    if (tally != NULL) {
        gnn_histogram_add(&tally->times, ns);
        gnn_read_tally_add(tally, len_bytes);
    }
    gnn_read_times_leave(tally);
    return GNN_OK;
}

enum gnn_status gnn_read_times_note_write(struct gnn_world *world, uint64_t len_bytes, bool buffered,
                                          struct gnn_err *err)
{
    struct gnn_read_tally *tally;
    GNN_TRY(gnn_read_times_join(world, &tally, err));
    if (tally != NULL)
        gnn_read_tally_add_write(tally, len_bytes, buffered);
    gnn_read_times_leave(tally);
    return GNN_OK;
}

enum gnn_status gnn_read_times_note_put(struct gnn_world *world, uint64_t bytes, struct gnn_err *err)
{
    struct gnn_read_tally *tally;
    GNN_TRY(gnn_read_times_join(world, &tally, err));
    if (tally != NULL)
        tally->put_bytes += bytes;
    gnn_read_times_leave(tally);
    return GNN_OK;
}

static void merge_counts(struct gnn_read_tally *into, const struct gnn_read_tally *from)
{
    gnn_sizes_merge(&into->sizes, &from->sizes);
    into->read_bytes += from->read_bytes;
    into->writes += from->writes;
    into->write_bytes += from->write_bytes;
    into->buffered_write_bytes += from->buffered_write_bytes;
    into->put_bytes += from->put_bytes;
}

void gnn_read_tally_merge(struct gnn_read_tally *into, const struct gnn_read_tally *from)
{
    gnn_histogram_merge(&into->times, &from->times);
    merge_counts(into, from);
}

/* Forgets what was counted. Only a histogram that was used is cleared: its pages are not touched otherwise. */
static void clear(struct gnn_read_tally *tally)
{
    if (tally->times.count > 0)
        gnn_histogram_clear(&tally->times);
    tally->sizes = (struct gnn_sizes){.count = 0};
    tally->read_bytes = tally->writes = tally->write_bytes = 0;
    tally->buffered_write_bytes = tally->put_bytes = 0;
}

void gnn_read_times_take(struct gnn_read_times *times, struct gnn_read_tally *sum)
{
    for (struct lent *l = atomic_load(&times->first); l != NULL; l = l->next) {
        if (l->tally.times.count > 0)
            gnn_histogram_merge(&sum->times, &l->tally.times);
        merge_counts(sum, &l->tally);
        clear(&l->tally);
    }
}
