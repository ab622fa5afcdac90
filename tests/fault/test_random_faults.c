/* SPDX-License-Identifier: MIT */
/* Many runs of every system under random plans of failures (tests/support/random_faults.h): none hangs, none leaks,
 * what says ok did what the run without failures did, and no value that was trained is wrong. `make faults N=100000`
 * makes a campaign of it.
 *
 *   OOCGNN_FAULTS       runs; 300
 *   OOCGNN_TEST_SEED    seed of the first; the others follow
 *   OOCGNN_FAULT_JOBS   processes; 1
 *
 * The runs are made in processes of their own: one that hangs or crashes is a breach like another, and the rest go
 * on. */
#include "tests/support/hang.h"
#include "tests/support/heap_count.h"
#include "tests/support/random_faults.h"
#include "tests/support/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { JOBS_MAX = 64, SYSTEMS_MAX = 32, BREACHES_MAX = 50, USUAL_RUNS = 300, TOLD_EVERY = 10000 };

/* How the runs of a system ended. */
struct tally {
    char system[32];
    uint64_t runs, measured, injected, ends[GNN_STATUS_COUNT];
};

/* Shared by the processes; each writes its own. */
struct job {
    uint64_t seed, end; /* the run that goes on; the first that is not asked for */
    uint64_t runs, breaches;
    struct tally tallies[SYSTEMS_MAX];
};

static uint64_t number_of(const char *name, uint64_t usual)
{
    const char *const text = getenv(name);
    return text == NULL ? usual : strtoull(text, NULL, 0);
}

/* What runs say on stderr is kept, and shown with a breach alone. */
struct said {
    FILE *file;
    FILE *out; /* the program's own stderr */
};

static void begin_run(const struct said *said)
{
    (void)fflush(stderr);
    (void)ftruncate(fileno(said->file), 0);
    (void)lseek(fileno(said->file), 0, SEEK_SET);
}

static void tell(const struct said *said, uint64_t seed, const char *what, const char *why)
{
    char text[4096];
    const ssize_t got = pread(fileno(said->file), text, sizeof text, 0);
    (void)fprintf(said->out, "breach: %s %s\n    OOCGNN_TEST_SEED=%" PRIu64 " OOCGNN_FAULTS=1 %s\n%.*s", what, why,
                  seed, program_invocation_name, got > 0 ? (int)got : 0, text);
    (void)fflush(said->out);
}

static void count(struct job *job, const struct random_faults_verdict *verdict)
{
    struct tally *t = job->tallies;
    while (t->system[0] != '\0' && strcmp(t->system, verdict->system) != 0)
        t++;
    (void)snprintf(t->system, sizeof t->system, "%s", verdict->system);
    t->runs++;
    t->injected += verdict->injected;
    t->measured += verdict->measured;
    t->ends[verdict->end]++;
    job->runs++;
}

static int free_descriptor(void)
{
    const int free_fd = fcntl(STDIN_FILENO, F_DUPFD, 3);
    (void)close(free_fd);
    return free_fd;
}

/* What is made once and kept looks like a leak the first time; a leak does so again. */
static void run_seed(struct random_faults *all, uint64_t seed, struct random_faults_verdict *out)
{
    long grown = 1;
    int opened = 0;
    for (int turn = 0; turn < 2 && (grown != 0 || opened != 0); turn++) {
        const long blocks = atomic_load(&heap_blocks);
        const int descriptor = free_descriptor();
        random_faults_run(all, seed, out);
        grown = atomic_load(&heap_blocks) - blocks;
        opened = free_descriptor() - descriptor;
    }
    if ((grown != 0 || opened != 0) && out->breach[0] == '\0')
        (void)snprintf(out->breach, sizeof out->breach, "%ld blocks of the heap and %d descriptors are left", grown,
                       opened);
}

static void work(const struct said *said, struct job *job, uint64_t step, bool alone)
{
    (void)dup2(fileno(said->file), STDERR_FILENO);
    struct random_faults *const all = random_faults_open();
    for (; job->seed < job->end && job->breaches < BREACHES_MAX; job->seed += step) {
        struct random_faults_verdict verdict;
        end_a_hang();
        begin_run(said);
        run_seed(all, job->seed, &verdict);
        count(job, &verdict);
        if (alone || verdict.breach[0] != '\0')
            (void)fprintf(said->out, "seed %" PRIu64 ": %s, %s, %s\n    --fault %s\n    ends %s\n", job->seed,
                          verdict.system, verdict.measured ? "measured" : "simulated", verdict.settings, verdict.plan,
                          gnn_status_name(verdict.end));
        if (verdict.breach[0] != '\0') {
            tell(said, job->seed, "", verdict.breach);
            job->breaches++;
        }
        if (job->runs % TOLD_EVERY == 0)
            (void)fprintf(said->out, "%" PRIu64 " runs, %" PRIu64 " breaches\n", job->runs, job->breaches);
        (void)fflush(said->out);
    }
    (void)alarm(0);
    random_faults_close(all);
}

/* Until the job is done; a process that dies of a run is followed by another. */
static void see_to(struct job *job, uint64_t step, bool alone)
{
    const struct said said = {.file = tmpfile(), .out = fdopen(dup(STDERR_FILENO), "w")};
    if (said.file == NULL || said.out == NULL) {
        job->breaches++;
        return;
    }
    while (job->seed < job->end && job->breaches < BREACHES_MAX) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            work(&said, job, step, alone);
            exit(0);
        }
        if (child < 0 || waitpid(child, &status, 0) != child) {
            job->breaches++;
            break;
        }
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            break;
        const bool hung = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
        if (job->seed >= job->end)
            tell(&said, job->seed - step, "the process failed", "after its last run");
        else
            tell(&said, job->seed, hung ? "hangs" : "crashes, deadlocks or fails an assertion", "");
        job->breaches++;
        job->seed += step;
    }
    (void)fclose(said.file);
    (void)fclose(said.out);
}

static void add_up(const struct job *jobs, uint64_t job_count, struct job *sum)
{
    for (uint64_t j = 0; j < job_count; j++) {
        sum->runs += jobs[j].runs;
        sum->breaches += jobs[j].breaches;
        for (const struct tally *from = jobs[j].tallies; from->system[0] != '\0'; from++) {
            struct tally *to = sum->tallies;
            while (to->system[0] != '\0' && strcmp(to->system, from->system) != 0)
                to++;
            memcpy(to->system, from->system, sizeof to->system);
            to->runs += from->runs;
            to->injected += from->injected;
            to->measured += from->measured;
            for (int e = 0; e < GNN_STATUS_COUNT; e++)
                to->ends[e] += from->ends[e];
        }
    }
}

static void print_table(const struct job *sum)
{
    static const enum gnn_status ends[] = {GNN_OK, GNN_EIO, GNN_ENOMEM, GNN_ENOSPC, GNN_ECANCELLED};
    print_message(
        "| system | runs | values compared | with a failure | ok | read failed | no memory | disk full | stopped "
        "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (const struct tally *t = sum->tallies; t->system[0] != '\0'; t++) {
        print_message("| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64, t->system, t->runs, t->measured, t->injected);
        for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
            print_message(" | %" PRIu64, t->ends[ends[e]]);
        print_message(" |\n");
    }
    print_message("%" PRIu64 " runs, %" PRIu64 " breaches\n", sum->runs, sum->breaches);
}

static struct job sum; /* of the campaign, which main makes */
static uint64_t wanted;

static void test_no_run_hangs_leaks_or_lies(void **state)
{
    (void)state;
    if (!HEAP_COUNT_WORKS)
        print_message("the heap is the sanitizer's to watch\n");
    print_table(&sum);
    assert_int_equal(sum.breaches, 0);
    assert_int_equal(sum.runs, wanted);
}

/* Outside of a test: an assertion that fails ends the process that meets it. */
static void make_runs(void)
{
    const uint64_t first = test_seed();
    const uint64_t job_count = gnn_max_u64(gnn_min_u64(number_of("OOCGNN_FAULT_JOBS", 1), JOBS_MAX), 1);
    struct job *const jobs =
        mmap(NULL, job_count * sizeof *jobs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[JOBS_MAX];
    wanted = number_of("OOCGNN_FAULTS", USUAL_RUNS);
    if (jobs == MAP_FAILED)
        return;
    for (uint64_t j = 0; j < job_count; j++) {
        jobs[j] = (struct job){.seed = first + j, .end = first + wanted};
        pids[j] = fork();
        if (pids[j] == 0) {
            see_to(&jobs[j], job_count, wanted == 1);
            _exit(0);
        }
    }
    for (uint64_t j = 0; j < job_count; j++)
        if (pids[j] > 0)
            (void)waitpid(pids[j], NULL, 0);
    add_up(jobs, job_count, &sum);
    (void)munmap(jobs, job_count * sizeof *jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_run_hangs_leaks_or_lies)};
    make_runs();
    return cmocka_run_group_tests_name("random_faults", tests, NULL, NULL);
}
