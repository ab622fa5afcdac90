/* SPDX-License-Identifier: MIT */
/* Host CPU time of the simulator's own steps, on one core.
 *
 *   bench_simulator
 *
 * Budget: a scheduling point that passes without a switch 20 ns, a switch of threads 50 ns. */
#include "harness/world/simulated/executor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The hooks take a world; of its state they see the executor alone. */
#define WORLD(ex) (&(struct gnn_world){.state = (struct sim_executor *[]){ex}})

enum { STEPS = 10000000, SWITCHERS = 16 };

static double host_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void print(const char *what, double start_ns, uint64_t count, double budget_ns)
{
    const double each_ns = (host_ns() - start_ns) / (double)count;
    printf("%-58s %7.1f ns, budget %.0f ns\n", what, each_ns, budget_ns);
}

static struct sim_executor *open_executor(uint32_t cores)
{
    const struct sim_executor_config config = {
        .cores = cores, .lock_ns = 20, .wake_ns = 1000, .wake_latency_ns = 5000, .thread_start_ns = 10000};
    struct sim_executor *ex = NULL;
    struct gnn_err err = {0};
    if (sim_executor_open(&config, &ex, &err) != GNN_OK) {
        (void)fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return ex;
}

/* ---- threads ---- */

struct computing {
    struct sim_executor *ex;
    uint64_t steps, step_ps;
};

static void compute(void *arg)
{
    const struct computing *const computing = arg;
    for (uint64_t i = 0; i < computing->steps; i++) {
        sim_cpu(computing->ex, computing->step_ps);
        sim_settle(computing->ex);
    }
}

static void run_threads(struct sim_executor *ex, uint32_t count, gnn_thread_fn *fn, void *args, size_t arg_bytes)
{
    struct gnn_thread *threads[SWITCHERS];
    struct gnn_err err = {0};
    for (uint32_t t = 0; t < count; t++) {
        if (sim_thread_start(WORLD(ex), "bench", fn, (unsigned char *)args + t * arg_bytes, &threads[t], &err) !=
            GNN_OK) {
            (void)fprintf(stderr, "%s\n", err.message);
            exit(1);
        }
    }
    for (uint32_t t = 0; t < count; t++)
        sim_thread_join(WORLD(ex), threads[t]);
}

/* One thread takes small steps while others compute for long: the usual case. */
static void bench_settle(uint32_t cores, uint32_t others, const char *what)
{
    struct sim_executor *const ex = open_executor(cores);
    struct computing computing[SWITCHERS];
    for (uint32_t t = 0; t <= others; t++)
        computing[t] = (struct computing){
            .ex = ex, .steps = t == 0 ? STEPS : 10, .step_ps = t == 0 ? 123456 : UINT64_C(500000000000000)};
    const double start_ns = host_ns();
    run_threads(ex, others + 1, compute, computing, sizeof computing[0]);
    print(what, start_ns, STEPS, 20);
    sim_executor_close(ex);
}

/* Everybody takes equal steps: each scheduling point is a switch. */
static void bench_switch(uint32_t cores, uint32_t threads, const char *what)
{
    struct sim_executor *const ex = open_executor(cores);
    struct computing computing[SWITCHERS];
    for (uint32_t t = 0; t < threads; t++)
        computing[t] = (struct computing){.ex = ex, .steps = STEPS / threads, .step_ps = 1000000};
    const double start_ns = host_ns();
    run_threads(ex, threads, compute, computing, sizeof computing[0]);
    print(what, start_ns, STEPS, 50);
    sim_executor_close(ex);
}

static void sleep_often(void *arg)
{
    const struct computing *const computing = arg;
    for (uint64_t i = 0; i < computing->steps; i++)
        sim_sleep_until(WORLD(computing->ex), sim_now(computing->ex) + 100000, GNN_WAIT_IO);
}

static void bench_sleep(uint32_t threads, const char *what)
{
    struct sim_executor *const ex = open_executor(4);
    struct computing computing[SWITCHERS];
    for (uint32_t t = 0; t < threads; t++)
        computing[t] = (struct computing){.ex = ex, .steps = STEPS / threads};
    const double start_ns = host_ns();
    run_threads(ex, threads, sleep_often, computing, sizeof computing[0]);
    print(what, start_ns, STEPS, 50);
    sim_executor_close(ex);
}

/* ---- locks ---- */

static void bench_lock(void)
{
    struct sim_executor *const ex = open_executor(4);
    struct gnn_mutex *mutex = NULL;
    if (sim_mutex_open(WORLD(ex), &mutex, NULL) != GNN_OK)
        exit(1);
    const double start_ns = host_ns();
    for (uint32_t i = 0; i < STEPS; i++) {
        sim_mutex_lock(WORLD(ex), mutex);
        sim_mutex_unlock(WORLD(ex), mutex);
    }
    print("a free lock taken and left", start_ns, STEPS, 40);
    sim_mutex_close(WORLD(ex), mutex);
    sim_executor_close(ex);
}

int main(void)
{
    bench_settle(4, 0, "scheduling point, alone");
    bench_settle(4, 3, "scheduling point, a core for each");
    bench_settle(4, 8, "scheduling point, nine threads on four cores");
    bench_switch(4, 2, "switch between two threads");
    bench_switch(16, 16, "switch among sixteen threads");
    bench_switch(4, 16, "switch among sixteen threads on four cores");
    bench_sleep(1, "sleep, alone");
    bench_sleep(16, "sleep, sixteen threads");
    bench_lock();
    return 0;
}
