/* SPDX-License-Identifier: MIT */
/* The lock of a dataset's directory, by which processes of one machine see each other. A preparation that changes the
 * dataset holds it alone; measured runs share it. It is an flock of the directory, so it needs no permission to write
 * and ends with its process. On a file system without locks, every process counts as alone. */
#ifndef GNN_DATASET_LOCK_H
#define GNN_DATASET_LOCK_H

#include "harness/dataset/prepare.h"

/* Waits until no other process uses the dataset in dir, then locks it until *lock_fd is closed; *lock_fd is -1 after an
 * error. A wait is reported once if the job reports progress. Returns GNN_ECANCELLED if the job is stopped
 * meanwhile. */
GNN_MUST_CHECK enum gnn_status gnn_dataset_lock(const struct gnn_prepare_job *job, const char *dir, int *lock_fd,
                                                struct gnn_err *err);

enum gnn_dataset_use {
    GNN_DATASET_ALONE,   /* no other process has the lock, or there are no locks here */
    GNN_DATASET_SHARED,  /* another run shares it */
    GNN_DATASET_CHANGING /* a preparation holds it: this process has no lock; try again later */
};

/* Tries once to share the lock of dir, until *lock_fd is closed; *lock_fd is -1 if there is no lock. */
enum gnn_dataset_use gnn_dataset_share(const char *dir, int *lock_fd);

/* Returns whether another process shares the lock now, then releases the lock and sets *lock_fd to -1. Accepts -1. */
bool gnn_dataset_unshare(int *lock_fd);

#endif
