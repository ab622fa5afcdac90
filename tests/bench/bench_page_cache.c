/* SPDX-License-Identifier: MIT */
/* Host time of the page cache model at the size of a published run: a feature file of 228 GB, a room of 32 GB, rows
 * drawn with skew, a page each.
 *
 *   bench_page_cache [TOUCHES] */
#include "harness/base/rng.h"
#include "harness/world/simulated/page_cache.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static const uint64_t file_bytes = UINT64_C(228000000000), room_bytes = UINT64_C(32000000000);
enum { BATCH = 1 << 16, TOUCHES = 60000000, AHEAD = 12 };

/* CPU time: the machine may have other things to do. */
static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Pages of equal popularity lie apart. */
static void draw(struct gnn_rng *rng, uint64_t pages, uint64_t *out)
{
    for (int i = 0; i < BATCH; i++) {
        const double u = gnn_rng_unit(rng);
        out[i] = (uint64_t)((double)pages * u * u * u) * UINT64_C(2654435761) % pages;
    }
}

/* Returns seconds spent in the model. */
static double touch_all(struct sim_page_cache *cache, uint32_t file, const uint64_t *page)
{
    const double start_s = now_s();
    for (int i = 0; i < BATCH; i++) {
        struct sim_touch out;
        if (i + AHEAD < BATCH) /* as gathers do */
            sim_page_cache_prefetch(cache, file, page[i + AHEAD]);
        if (!sim_page_cache_hit(cache, file, page[i], SIM_READAHEAD_RANDOM))
            sim_page_cache_touch(cache, file, page[i], SIM_READAHEAD_RANDOM, &out);
    }
    return now_s() - start_s;
}

int main(int argc, char **argv)
{
    const uint64_t touches = argc > 1 ? strtoull(argv[1], NULL, 10) : (uint64_t)TOUCHES;
    struct gnn_err err = {0};
    struct sim_page_cache *cache = NULL;
    uint32_t file = 0;
    static uint64_t page[BATCH];
    if (sim_page_cache_open(room_bytes, 128 << 10, &cache, &err) != GNN_OK ||
        sim_page_cache_add_file(cache, file_bytes, &file, &err) != GNN_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct gnn_rng rng = gnn_rng_at(1);
    struct sim_page_cache_counts before = {0}, counts = {0};
    for (uint64_t done = 0; done < touches;) {
        double model_s = 0;
        const uint64_t stop = done + touches / 6;
        const uint64_t first = done;
        for (; done < stop; done += BATCH) {
            draw(&rng, file_bytes / GNN_PAGE_BYTES, page);
            model_s += touch_all(cache, file, page);
        }
        sim_page_cache_sum_statistics(cache);
        sim_page_cache_counts(cache, &counts);
        const uint64_t missed = counts.major_faults - before.major_faults;
        before = counts;
        struct rusage usage;
        (void)getrusage(RUSAGE_SELF, &usage);
        (void)printf("%9" PRIu64 " touches  %5.1f %% missed  %6.1f ns a touch  %9" PRIu64 " pages cached  %5ld MiB\n",
                     done, 100.0 * (double)missed / (double)(done - first), model_s * 1e9 / (double)(done - first),
                     counts.pages, usage.ru_maxrss / 1024);
    }
    sim_page_cache_close(cache);
    return 0;
}
