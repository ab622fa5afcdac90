#include "harness/storage/read_times.h"

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* A histogram that is lent: `taken` while somebody is joined. Never leaves its list before close. */
struct lent {
    struct gnn_histogram histogram; /* first: what is lent is the whole */
    atomic_bool taken;
    struct lent *next;
};
_Static_assert(offsetof(struct lent, histogram) == 0, "a histogram's address is its holder's");

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

/* Returns a histogram that nobody has, now the caller's; NULL: all are taken. */
static struct lent *take_free(struct gnn_read_times *times)
{
    struct lent *l = atomic_load_explicit(&times->first, memory_order_acquire);
    while (l != NULL && (atomic_load_explicit(&l->taken, memory_order_relaxed) ||
                         atomic_exchange_explicit(&l->taken, true, memory_order_acquire)))
        l = l->next;
    return l;
}

enum gnn_status gnn_read_times_join(struct gnn_world *world, struct gnn_histogram **out, struct gnn_err *err)
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
    *out = &l->histogram;
    return GNN_OK;
}

void gnn_read_times_leave(struct gnn_histogram *histogram)
{
    if (histogram != NULL)
        atomic_store_explicit(&((struct lent *)histogram)->taken, false, memory_order_release);
}

enum gnn_status gnn_read_times_note(struct gnn_world *world, uint64_t ns, struct gnn_err *err)
{
    struct gnn_histogram *histogram;
    GNN_TRY(gnn_read_times_join(world, &histogram, err));
    if (histogram != NULL)
        gnn_histogram_add(histogram, ns);
    gnn_read_times_leave(histogram);
    return GNN_OK;
}

void gnn_read_times_take(struct gnn_read_times *times, struct gnn_histogram *sum)
{
    for (struct lent *l = atomic_load(&times->first); l != NULL; l = l->next) {
        if (l->histogram.count == 0)
            continue;
        gnn_histogram_merge(sum, &l->histogram);
        gnn_histogram_clear(&l->histogram);
    }
}
