/* SPDX-License-Identifier: MIT */
#include "systems/presort/handout.h"

#include <assert.h>
#include <stdlib.h>

enum { WINDOWS = 2 }; /* that are loaded and not yet assembled: one in use, one that came in */

/* Window number v of the run is windows[v % WINDOWS]. */
struct window {
    uint32_t begin, end, left; /* mini-batches of the epoch; how many of them have not come back */
    bool begins, ends;         /* a hyperbatch */
    struct presort_spooled spooled;
};

struct presort_handout {
    struct gnn_world *world;
    struct gnn_progress *progress;
    struct gnn_mutex *mutex; /* of what follows */
    struct window windows[WINDOWS];
    uint64_t loaded, assembled; /* windows of the run */
    uint32_t next, batches;     /* mini-batches: to be taken, and of the epoch */
};

enum gnn_status presort_handout_open(struct gnn_world *world, struct gnn_progress *progress,
                                     struct presort_handout **out, struct gnn_err *err)
{
    struct presort_handout *h;
    GNN_NEW(h, 1, err, "presort's handing out");
    *out = h;
    h->world = world;
    h->progress = progress;
    return gnn_mutex_open(world, &h->mutex, err);
}

void presort_handout_close(struct presort_handout *h)
{
    if (h == NULL)
        return;
    gnn_mutex_close(h->world, h->mutex);
    free(h);
}

void presort_handout_begin(struct presort_handout *h, uint32_t batches, uint64_t first_window)
{
    h->loaded = h->assembled = first_window;
    h->next = 0;
    h->batches = batches;
}

void presort_handout_window(struct presort_handout *h, const struct presort_hyperbatch *x, uint32_t j)
{
    const uint32_t begin = x->first_batch + presort_begin_of(x->batch_end, j), end = x->first_batch + x->batch_end[j];
    assert(begin < end);
    gnn_mutex_lock(h->world, h->mutex);
    assert(h->loaded < h->assembled + WINDOWS);
    h->windows[h->loaded++ % WINDOWS] = (struct window){.begin = begin,
                                                        .end = end,
                                                        .left = end - begin,
                                                        .begins = j == 0,
                                                        .ends = j + 1 == x->windows,
                                                        .spooled = x->spooled};
    gnn_mutex_unlock(h->world, h->mutex);
    gnn_progress_add(h->progress, PRESORT_LOADED);
}

/* Returns the loaded window that the mini-batch is of, NULL where that is not loaded yet. */
static struct window *window_of(struct presort_handout *h, uint32_t batch)
{
    for (uint64_t v = h->assembled; v < h->loaded; v++)
        if (batch < h->windows[v % WINDOWS].end)
            return &h->windows[v % WINDOWS];
    return NULL;
}

/* Fills in what is said of the mini-batch where its window is loaded; else *wanted is how many have to be. */
static bool is_loaded(struct presort_handout *h, struct presort_taken *taken, uint64_t *wanted)
{
    gnn_mutex_lock(h->world, h->mutex);
    const struct window *const w = window_of(h, taken->batch);
    if (w != NULL) {
        taken->begins = w->begins && taken->batch == w->begin;
        taken->spooled = w->spooled;
    }
    *wanted = h->loaded + 1;
    gnn_mutex_unlock(h->world, h->mutex);
    return w != NULL;
}

enum gnn_status presort_handout_take(struct presort_handout *h, struct presort_taken *out, bool *some)
{
    uint64_t wanted;
    gnn_mutex_lock(h->world, h->mutex);
    *some = h->next < h->batches;
    out->batch = h->next;
    h->next += *some;
    gnn_mutex_unlock(h->world, h->mutex);
    while (*some && !is_loaded(h, out, &wanted))
        GNN_TRY(gnn_progress_wait(h->progress, PRESORT_LOADED, (int64_t)wanted));
    return GNN_OK;
}

void presort_handout_give(struct presort_handout *h, uint32_t batch)
{
    gnn_mutex_lock(h->world, h->mutex);
    struct window *const of = window_of(h, batch);
    assert(of != NULL && batch >= of->begin && of->left > 0);
    of->left--;
    for (; h->assembled < h->loaded && h->windows[h->assembled % WINDOWS].left == 0; h->assembled++) {
        gnn_progress_add(h->progress, PRESORT_ASSEMBLED);
        if (h->windows[h->assembled % WINDOWS].ends)
            gnn_progress_add(h->progress, PRESORT_RELEASED);
    }
    gnn_mutex_unlock(h->world, h->mutex);
}
