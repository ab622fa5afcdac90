/* SPDX-License-Identifier: MIT */
#include "tests/support/fixture.h"

#include "tests/support/sim_profile.h"
#include "tests/support/sim_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The simulated world opens everything; there a file stays as it was when first opened, so nothing is tried. */
static bool opens_direct(const struct fixture *f)
{
    struct gnn_file *file = NULL;
    if (f->config.simulated)
        return true;
    if (f->config.graph == NULL)
        return f->config.scratch && f->scratch.direct;
    const bool works = gnn_file_open(f->inner, f->graph.dataset.indices_path, GNN_OPEN_DIRECT, &file, NULL) == GNN_OK;
    gnn_file_close(f->inner, file);
    return works;
}

void fixture_open_config(struct fixture *f, const struct fixture_config *config)
{
    static bool told; /* once a program, not once a case */
    *f = (struct fixture){.config = *config,
                          .workload = {.seed = 7, .batch_size = 20, .layers = 2, .fanout = {4, 3}, .epochs = 2}};
    if (config->simulated) {
        sim_profile_fill(&f->profile);
        f->inner = sim_world_of(&f->profile, 0);
    } else {
        must(gnn_world_measured_open(&config->measured, &f->inner, &f->err), &f->err);
    }
    f->world = f->inner;
    if (config->faults != NULL)
        must(gnn_world_faulty_open(f->inner, config->faults, &f->world, &f->err), &f->err);
    if (config->scratch)
        io_scratch_open(&f->scratch);
    if (config->graph != NULL)
        train_graph_open(config->graph, &f->graph);
    f->direct = opens_direct(f);
    if (!f->direct && (config->graph != NULL || config->scratch) && !told) {
        leave_out("cases with direct I/O, which the temporary directory has not");
        told = true;
    }
    f->env = (struct gnn_env){.world = f->world, .dataset = &f->graph.dataset, .workload = &f->workload};
}

void fixture_close(struct fixture *f)
{
    struct gnn_mem_usage usage;
    gnn_mem_usage(f->inner, &usage);
    assert_int_equal(usage.current_bytes, 0);
    if (f->config.graph != NULL)
        train_graph_close(&f->graph);
    if (f->world != f->inner)
        gnn_world_faulty_close(f->world);
    if (f->config.simulated)
        gnn_world_simulated_close(f->inner);
    else
        gnn_world_measured_close(f->inner);
    if (f->config.scratch)
        io_scratch_close(&f->scratch);
}
