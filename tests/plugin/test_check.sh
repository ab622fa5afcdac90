#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# oocgnn check-system: systems in shared objects that are wrong in one place each fail the check that is about it, and a
# right one fails none. Closes with cmocka's summary lines.
# shellcheck source=tests/support/verdict.sh
. "$(dirname "$0")/../support/verdict.sh"
# shellcheck source=tests/plugin/installed.sh
. "$(dirname "$0")/installed.sh"
mkdir "$dir/work" && cd "$dir/work" || exit 1
export TMPDIR=$dir/work

checks=(run mini-batches seeds "feature rows" losses threads "disturbed reads" "failed reads" "failed allocations" "failed writes"
    stop "memory plan" "memory limit" "simulated world" "virtual time" "nothing left open")

oocgnn new-system mine right >"$dir/said" && make -s -C right >>"$dir/said" 2>&1
ends 0 -- oocgnn check-system ./right/mine.so
verdict "a right system passes" $?
! grep FAILED "$dir/said" && [ "$(grep -c . "$dir/said")" -eq ${#checks[@]} ] && [ "$(grep -c '^passed' "$dir/said")" -eq 14 ]
verdict "one line for each of ${#checks[@]} checks, 14 of them passed" $?
! compgen -G 'oocgnn-check-*' >"$dir/said"
verdict "the temporary directory is gone" $?
ends 0 -- make -s -C right check
verdict "make check of the directory" $?

# A changed system must fail these checks, with a text of the first; others may fail with them where they say so.
wrong() { # what, "CHECK|CHECK...", text, program of sed
    local what=$1 expected=$2 text=$3 found
    changed wrong "$4" && ends 1 "$text" -- oocgnn check-system ./wrong/mine.so --timeout 10
    local status=$?
    found=$(sed -nE 's/^FAILED +(([a-z-]+ ?)+)  .*/\1/p' "$dir/said" | sed 's/ *$//' | paste -sd'|')
    [ $status -eq 0 ] && [ "$found" = "$expected" ]
    verdict "$what: expected to fail are $expected, failed are $found" $?
}
wrong "a row is left out" "feature rows|losses" "values differ from the file, the first for node" \
    's/view->nodes, view->node_count,/view->nodes, view->node_count - 1,/'
wrong "an error is ignored" "failed reads" "failed with an I/O error, and the run ended well" \
    's/GNN_TRY(gnn_extraction_rows(\(.*\), err));/(void)!gnn_extraction_rows(\1, NULL);/'
wrong "an error without a message" "failed reads|failed allocations" "without a message; fill err" \
    's/^    return status;/    if (status != GNN_OK)\n        *err = (struct gnn_err){.status = GNN_OK};\n    return status;/'
wrong "samples of another seed" "mini-batches|losses" \
    "the reference has" \
    's/^    GNN_TRY(gnn_sampling_open(env, /    static struct gnn_workload other;\n    static struct gnn_env altered;\n    other = *env->workload;\n    other.seed++;\n    altered = *env;\n    altered.workload = \&other;\n    GNN_TRY(gnn_sampling_open(\&altered, /'
wrong "more memory than planned" "memory plan|memory limit" "add the missing part" \
    's/^    struct mine_item \*items;/    void *extra;\n    struct mine_item *items;/; s/^    gnn_training_open(env/    GNN_TRY(gnn_mem_hold(env->world, "extra", 4 << 20, \&s->extra, err));\n    gnn_training_open(env/; s/^    gnn_training_close/    gnn_mem_free(s->env->world, s->extra);\n    gnn_training_close/'
wrong "a mini-batch is not planned" "memory plan|memory limit" "add the missing part" \
    '/gnn_plan_in_flight(plan, "feature rows"/d; s/gnn_plan_in_flight(plan, "mini-batches", "mine.queue",/gnn_plan_in_flight(plan, "mini-batches", "mine.queue", 0 */'
wrong "close forgets the sampler" "nothing left open" "a plain run: close left" '/^    gnn_sampling_close/d'
wrong "close forgets the extraction" "nothing left open" "open" '/^    gnn_extraction_close/d'
wrong "a mini-batch is left out" "mini-batches|seeds" "\`intend\` declares" \
    's/k < gnn_sampling_batches(s->sampling); k++/k + 1 < gnn_sampling_batches(s->sampling); k++/'
wrong "a counter is wrong" "feature rows" "counter rows_asked" 's/c->rows_asked = s->rows;/c->rows_asked = s->rows + 1;/'
wrong "a loss is wrong" "losses" "loss_sum" 's/^    gnn_sampling_counters/    out->loss_sum *= 2;\n    gnn_sampling_counters/'
wrong "the stop flag is ignored" "stop" "call gnn_check_stop" \
    's/^    s->env = env;/    static atomic_bool never;\n    static struct gnn_env deaf;\n    deaf = *env;\n    deaf.stop = \&never;\n    env = \&deaf;\n    s->env = env;/'
wrong "another clock" "virtual time" "use the threads, locks and clock of the world" \
    's/^    gnn_sampling_begin/    gnn_charge(s->env->world, GNN_WORK_CPU_NS, (uint64_t)getpid());\n    gnn_sampling_begin/; s/^#include "harness/#include <unistd.h>\n#include "harness/'
wrong "it crashes" "run" "was ended by signal 6" 's/^    gnn_sampling_begin/    abort();\n    gnn_sampling_begin/'
wrong "it hangs" "run" "did not end within 10 s" 's/^    gnn_sampling_begin/    pause();\n    gnn_sampling_begin/; s/^#include "harness/#include <unistd.h>\n#include "harness/'
wrong "threads change what is trained" "threads" "--set mine.threads=3: epoch 0 trained other mini-batches" \
    's/^    {.name = NULL},/    GNN_OPTION(mine_config, "threads", U32, threads, "1", .unit = "threads", .min = 1, .max = 8, .help = "Threads."),\n    {.name = NULL},/; s/uint32_t queue, depth;/uint32_t queue, depth, threads;/; s/\.floyd_biased = env->floyd_biased/.floyd_biased = s->config->threads > 1/'
# Writes a file in pieces under its own name, and uses any file of that name as a whole one.
cat >half.h <<'END'
#include <stdio.h>
#include <unistd.h>
static enum gnn_status half(const struct gnn_env *env, struct gnn_err *err)
{
    static char bytes[1 << 16];
    char dir[600], path[700];
    struct gnn_file *file = NULL;
    snprintf(dir, sizeof dir, "%s/mine", env->dataset->dir);
    snprintf(path, sizeof path, "%s/rows", dir);
    const bool known = access(path, R_OK) == 0;
    if (!known && access(dir, R_OK) != 0)
        GNN_TRY(gnn_dir_make(env->world, dir, err));
    GNN_TRY(gnn_file_open(env->world, path, known ? GNN_OPEN_READ : GNN_OPEN_WRITE, &file, err));
    enum gnn_status status = known ? gnn_read_all(env->world, file, 0, bytes, sizeof bytes, err) : GNN_OK;
    for (uint64_t at = 0; !known && at < sizeof bytes && status == GNN_OK; at += 1 << 14)
        status = gnn_write_all(env->world, file, at, bytes + at, 1 << 14, err);
    gnn_file_close(env->world, file);
    return status;
}
END
wrong "a file that was written in part is used" "failed writes" "the disk was full halfway; the next run, where nothing failed" \
    's/^    GNN_TRY(gnn_sampling_open/    GNN_TRY(half(env, err));\n    GNN_TRY(gnn_sampling_open/; s,^struct mine_config {,#include "../half.h"\nstruct mine_config {,'
finish
