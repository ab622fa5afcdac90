/* SPDX-License-Identifier: MIT */
/* Why configurations of a figure ran out of memory: a line for each reason, with those that have it. */
#include "harness/figure/show.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CELLS = 5 };

/* A figure of two series over `memory`, at 1/100. */
struct drawn {
    struct gnn_paper_figure figure;
    struct gnn_figure_cell cells[CELLS];
    struct gnn_run_record runs[CELLS];
    struct gnn_job job;
};

static void make(struct drawn *d)
{
    *d = (struct drawn){.job.count = CELLS};
    d->figure = (struct gnn_paper_figure){
        .job = &d->job, .cells = d->cells, .axis_count = 1, .series_count = 2, .scale_divisor = 100};
    (void)snprintf(d->figure.series[0].name, sizeof d->figure.series[0].name, "Ginex");
    (void)snprintf(d->figure.series[1].name, sizeof d->figure.series[1].name, "AGNES");
    d->figure.axes[0] = (struct gnn_axis){.key = "memory", .count = 3, .values = {"800M", "1600M", "3200M"}};
    for (uint32_t i = 0; i < CELLS; i++) {
        fake_run(&d->runs[i], "ginex", 1, 0, 1);
        d->cells[i] = (struct gnn_figure_cell){.series = i / 3, .at = {i % 3}, .runs = &d->runs[i], .run_count = 1};
    }
}

static void end(struct drawn *d, uint32_t cell, enum gnn_run_status status, const char *reasons)
{
    d->runs[cell].status = status;
    (void)snprintf(d->runs[cell].reasons, sizeof d->runs[cell].reasons, "%s", reasons);
}

static void expect(struct drawn *d, const char *wanted)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);
    gnn_figure_reasons(&d->figure, out);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(text, wanted);
    free(text);
    for (uint32_t i = 0; i < CELLS; i++)
        gnn_run_record_free(&d->runs[i]);
}

static void without_an_end_there_is_no_reason(void **state)
{
    (void)state;
    struct drawn d;
    make(&d);
    end(&d, 1, GNN_RUN_FAILED, "a thread could not start");
    end(&d, 2, GNN_RUN_OOT, "the time limit passed");
    d.cells[0].run_count = 0;
    expect(&d, "");
}

/* One configuration is named by its place, several by their number and all their series. */
static void equal_reasons_share_a_line(void **state)
{
    (void)state;
    struct drawn d;
    make(&d);
    end(&d, 0, GNN_RUN_OOM, "needs 68 MiB");
    end(&d, 1, GNN_RUN_GPU_OOM, "the GPU is full");
    end(&d, 4, GNN_RUN_OOM, "needs 68 MiB");
    expect(&d, "\nOut of memory:\n\n* Ginex, AGNES (2 configurations): needs 68 MiB\n"
               "* Ginex, memory=16.0 MiB: the GPU is full\n");
}

/* Other numbers are no other reason; other words are. Several reasons of one run are one line. */
static void numbers_make_no_other_reason(void **state)
{
    (void)state;
    struct drawn d;
    make(&d);
    end(&d, 0, GNN_RUN_OOM, "needs 68.25 MiB");
    end(&d, 1, GNN_RUN_OOM, "needs 7 MiB");
    end(&d, 2, GNN_RUN_OOM, "needs 7 MiB\nand more");
    end(&d, 3, GNN_RUN_OOM, "needs 7 GiB");
    end(&d, 4, GNN_RUN_OOM, "");
    expect(&d, "\nOut of memory:\n\n* Ginex (2 configurations; numbers of the first): needs 68.25 MiB\n"
               "* Ginex, memory=32.0 MiB: needs 7 MiB;and more\n* AGNES, memory=8.00 MiB: needs 7 GiB\n"
               "* AGNES, memory=16.0 MiB: no reason is recorded\n");
}

/* The newest of the repetitions tells. */
static void the_newest_run_has_the_reason(void **state)
{
    (void)state;
    struct drawn d;
    make(&d);
    d.cells[0].run_count = 2;
    end(&d, 0, GNN_RUN_OOM, "was too small");
    d.cells[3].runs = &d.runs[2];
    d.cells[3].run_count = 2;
    end(&d, 3, GNN_RUN_OOM, "is too small");
    expect(&d, "\nOut of memory:\n\n* AGNES, memory=8.00 MiB: is too small\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_end_there_is_no_reason),
        cmocka_unit_test(equal_reasons_share_a_line),
        cmocka_unit_test(numbers_make_no_other_reason),
        cmocka_unit_test(the_newest_run_has_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
