/* SPDX-License-Identifier: MIT */
#include "harness/model/class_quality.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- the ROC curve ---- */

static int by_score(const void *left, const void *right)
{
    const struct gnn_scored_node *const a = left, *const b = right;
    return (a->score > b->score) - (a->score < b->score);
}

/* The positive nodes' ranks decide (Mann and Whitney): a group of equal scores shares the mean of its ranks. */
double gnn_roc_auc(struct gnn_scored_node *nodes, uint32_t count)
{
    uint64_t pairs_halved = 0, negatives = 0, positives = 0; /* pairs won count two halves, ties one */
    for (uint32_t i = 0; i < count; i++)
        if (isnan(nodes[i].score))
            return (double)NAN;
    if (count > 0)
        qsort(nodes, count, sizeof *nodes, by_score);
    for (uint32_t i = 0; i < count;) {
        uint64_t positive = 0, negative = 0;
        const gnn_real score = nodes[i].score;
        for (; i < count && nodes[i].score == score; i++)
            *(nodes[i].positive ? &positive : &negative) += 1;
        pairs_halved += positive * (2 * negatives + negative);
        positives += positive;
        negatives += negative;
    }
    assert(positives + negatives == count);
    if (positives == 0 || negatives == 0)
        return (double)NAN;
    return (double)pairs_halved / 2 / ((double)positives * (double)negatives);
}

/* ---- F1 ---- */

static uint32_t argmax(const gnn_real *row, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t c = 1; c < count; c++)
        best = row[c] > row[best] ? c : best;
    return best;
}

void gnn_class_count_add(struct gnn_class_count *counts, uint32_t classes, const gnn_real *logits,
                         const int32_t *labels, uint32_t count)
{
    assert(classes > 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t predicted = argmax(logits + (uint64_t)i * classes, classes), label = (uint32_t)labels[i];
        assert(label < classes);
        counts[label].labelled++;
        counts[predicted].predicted++;
        counts[label].correct += predicted == label;
    }
}

double gnn_macro_f1(const struct gnn_class_count *counts, uint32_t classes)
{
    double sum = 0;
    uint32_t occur = 0;
    for (uint32_t c = 0; c < classes; c++) {
        const uint64_t all = counts[c].labelled + counts[c].predicted;
        if (all == 0)
            continue;
        sum += 2 * (double)counts[c].correct / (double)all;
        occur++;
    }
    return occur > 0 ? sum / occur : (double)NAN;
}
