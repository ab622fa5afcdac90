/* SPDX-License-Identifier: MIT */
#include "harness/model/optimizer.h"

#include "harness/tensor/link.h"

#include <assert.h>

const char *const gnn_optimizer_words[] = {"adam", "adagrad", NULL}; /* in the order of the enum */

void gnn_optimizer_step(struct gnn_tensor *t, enum gnn_optimizer optimizer, double lr, uint64_t step, gnn_real *value,
                        const gnn_real *grad, gnn_real *state, uint64_t count)
{
    if (optimizer == GNN_OPTIMIZER_ADAGRAD) {
        const struct gnn_adagrad adagrad = {.lr = lr, .eps = GNN_ADAGRAD_EPS};
        assert(t->ops->link != NULL);
        t->ops->link->adagrad(t, value, grad, state, count, &adagrad);
        return;
    }
    const struct gnn_adam adam = {.lr = lr, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = step};
    t->ops->adam(t, value, grad, state, state + count, count, &adam);
}
