/* SPDX-License-Identifier: MIT */
/* Runs of every system under random plans of failures, each judged against the same run without them. One seed
 * chooses system, parameters, workload, plan and world: seven of eight runs are simulated, and repeat on any machine.
 * The eighth is measured, on files of its own: there every feature value that is trained is compared with the file's.
 *
 * A run must come to an end and give all memory back, and each of its epochs must end in one of two ways: well, with
 * the mini-batches, seeds and counters of rows of the run without failures, and then nothing was injected that cannot
 * be repaired; or in the error of something that was. After the failure the same state trains the next epoch. */
#ifndef GNN_TESTS_RANDOM_FAULTS_H
#define GNN_TESTS_RANDOM_FAULTS_H

#include "harness/oocgnn.h"

enum { RANDOM_FAULTS_TEXT = 1200 };

struct random_faults; /* the graphs, and the runs without failures that were needed so far */

struct random_faults *random_faults_open(void); /* fails the test when it cannot */
void random_faults_close(struct random_faults *all);

struct random_faults_verdict {
    const char *system;
    enum gnn_status end;               /* the first failure of open or an epoch; GNN_OK: none */
    bool injected;                     /* anything at all */
    bool measured;                     /* this machine; else simulated */
    char settings[RANDOM_FAULTS_TEXT]; /* options and workload */
    char plan[RANDOM_FAULTS_TEXT];     /* as --fault takes it */
    char breach[RANDOM_FAULTS_TEXT];   /* what is wrong; "": nothing */
};

/* Makes the run of a seed, and, where it is the first with those parameters, the one without failures. A deadlock
 * aborts the process, with the simulated world's report; a hang is the caller's to see. */
void random_faults_run(struct random_faults *all, uint64_t seed, struct random_faults_verdict *out);

#endif
