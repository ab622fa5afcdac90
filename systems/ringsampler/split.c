/* SPDX-License-Identifier: MIT */
#include "systems/ringsampler/thread.h"

#include <assert.h>

static struct rs_share consecutive(const struct ringsampler *s, uint32_t thread)
{
    const uint32_t each = s->order.batches / s->sizes.threads, over = s->order.batches % s->sizes.threads;
    return (struct rs_share){
        .first = thread * each + gnn_min_u32(thread, over), .count = each + (thread < over), .step = 1};
}

struct rs_share rs_share_of(const struct ringsampler *s, uint32_t thread)
{
    assert(thread < s->sizes.threads);
    if (s->config->split != RS_SPLIT_INTERLEAVED && s->env->workload->sample_only)
        return consecutive(s, thread);
    const uint32_t n = s->sizes.threads, batches = s->order.batches;
    const uint32_t count = thread < batches ? (uint32_t)gnn_div_up(batches - thread, n) : 0;
    return (struct rs_share){.first = thread, .count = count, .step = n};
}

/* The number of the seed that a batch starts with under the released split. */
static uint64_t release_start(const struct ringsampler *s, uint32_t number)
{
    uint32_t thread = 0;
    struct rs_share share = consecutive(s, 0);
    while (number >= share.first + share.count)
        share = consecutive(s, ++thread);
    return share.first + (uint64_t)(number - share.first) * s->env->workload->batch_size;
}

const gnn_node *rs_seeds(const struct ringsampler *s, uint32_t number, uint32_t *count)
{
    const uint32_t total = s->env->dataset->train.count;
    if (s->config->requests > 0) { /* a stream of single targets: the order, again and again */
        *count = 1;
        return s->order.order + number % total;
    }
    if (s->config->split != RS_SPLIT_RELEASE)
        return gnn_batch_order_seeds(&s->order, number, count);
    assert(number < s->order.batches);
    const uint64_t start = release_start(s, number);
    assert(start < total);
    *count = (uint32_t)gnn_min_u64(total - start, s->env->workload->batch_size);
    return s->order.order + start;
}
