/* SPDX-License-Identifier: MIT */
/* ROC AUC against a count of all pairs, with ties, and macro-averaged F1 by hand. */
#include "harness/base/rng.h"
#include "harness/model/class_quality.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { NODES = 60 };

static double auc_of_pairs(const struct gnn_scored_node *nodes, uint32_t count)
{
    double won = 0, pairs = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count; j++) {
            if (!nodes[i].positive || nodes[j].positive)
                continue;
            pairs++;
            won += nodes[i].score > nodes[j].score ? 1 : nodes[i].score == nodes[j].score ? 0.5 : 0;
        }
    return won / pairs;
}

/* `levels` scores: with two, nearly all pairs are ties. */
static void test_auc_is_the_share_of_pairs(void **state)
{
    (void)state;
    struct gnn_rng rng = gnn_rng_at(11);
    static const uint32_t levels[] = {1, 2, 7, 1000};
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++)
        for (int round = 0; round < 20; round++) {
            struct gnn_scored_node nodes[NODES];
            for (uint32_t i = 0; i < NODES; i++)
                nodes[i] = (struct gnn_scored_node){.score = (gnn_real)gnn_rng_below(&rng, levels[l]) - 3,
                                                    .positive = i < 5 || gnn_rng_below(&rng, 4) == 0};
            nodes[NODES - 1].positive = false;
            const double expected = auc_of_pairs(nodes, NODES);
            assert_true(fabs(gnn_roc_auc(nodes, NODES) - expected) < 1e-12);
        }
}

static void test_auc_of_separated_classes(void **state)
{
    (void)state;
    struct gnn_scored_node right[3] = {{2, true}, {-1, false}, {0, false}}, wrong[2] = {{2, false}, {-1, true}};
    assert_true(gnn_roc_auc(right, 3) == 1);
    assert_true(gnn_roc_auc(wrong, 2) == 0);
}

static void test_auc_is_unknown(void **state)
{
    (void)state;
    struct gnn_scored_node one[2] = {{1, true}, {0, true}}, none[2] = {{1, false}, {0, false}};
    struct gnn_scored_node no_number[2] = {{(gnn_real)NAN, true}, {0, false}};
    assert_true(isnan(gnn_roc_auc(one, 2)));
    assert_true(isnan(gnn_roc_auc(none, 2)));
    assert_true(isnan(gnn_roc_auc(no_number, 2)));
    assert_true(isnan(gnn_roc_auc(one, 0)));
}

/* Class 3 occurs neither as a label nor as a prediction. Of equal logits the first wins. */
static void test_f1_by_hand(void **state)
{
    (void)state;
    static const gnn_real logits[5][4] = {{2, 1, 0, 0}, {1, 1, 0, 0}, {0, 3, 1, 0}, {0, 0, 5, 0}, {0, 4, 0, 0}};
    static const int32_t labels[5] = {0, 1, 1, 1, 1};
    struct gnn_class_count counts[4] = {{0}};
    gnn_class_count_add(counts, 4, logits[0], labels, 2);
    gnn_class_count_add(counts, 4, logits[2], labels + 2, 3);
    const double expected = (2.0 * 1 / (1 + 2) + 2.0 * 2 / (4 + 2) + 0) / 3;
    assert_true(fabs(gnn_macro_f1(counts, 4) - expected) < 1e-12);
    assert_true(isnan(gnn_macro_f1(counts + 3, 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auc_is_the_share_of_pairs),
        cmocka_unit_test(test_auc_of_separated_classes),
        cmocka_unit_test(test_auc_is_unknown),
        cmocka_unit_test(test_f1_by_hand),
    };
    return cmocka_run_group_tests_name("class quality", tests, NULL, NULL);
}
