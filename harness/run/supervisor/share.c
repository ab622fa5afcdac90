/* SPDX-License-Identifier: MIT */
#include "harness/run/supervisor/share.h"

#include "harness/base/log.h"
#include "harness/dataset/lock.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

enum { RETRY_MS = 50 };

/* Waits for RETRY_MS or a signal. Ctrl-Z stops the process here. Returns GNN_ECANCELLED for a signal that ends the run,
 * which stays pending for its handler. */
static enum gnn_status wait_or_signal(const struct gnn_signals *signals, const char *dir, struct gnn_err *err)
{
    struct pollfd fd = {.fd = signals->fd, .events = POLLIN};
    if (poll(&fd, 1, RETRY_MS) <= 0)
        return GNN_OK;
    const int number = gnn_signals_take(signals);
    if (number == SIGTSTP)
        (void)raise(SIGSTOP);
    if (number == 0 || number == SIGTSTP || number == SIGCONT)
        return GNN_OK;
    (void)raise(number); /* blocked until the signals are closed */
    return gnn_fail(err, GNN_ECANCELLED, "interrupted (%s) while a preparation of %s was waited for", strsignal(number),
                    dir);
}

enum gnn_status gnn_run_share_open(struct gnn_run_share *share, const char *dir, const struct gnn_signals *signals,
                                   bool quiet, struct gnn_err *err)
{
    assert(signals->fd >= 0);
    enum gnn_dataset_use use;
    while ((use = gnn_dataset_share(dir, &share->lock_fd)) == GNN_DATASET_CHANGING) {
        if (!quiet)
            gnn_log_info("%s: waiting for the preparation that changes it; Ctrl-C ends the wait", dir);
        quiet = true;
        GNN_TRY(wait_or_signal(signals, dir, err));
    }
    share->at_start = use == GNN_DATASET_SHARED;
    return GNN_OK;
}

enum gnn_status gnn_run_share_end(struct gnn_run_share *share, struct gnn_run_record *run, struct gnn_err *err)
{
    const bool at_end = gnn_dataset_unshare(&share->lock_fd);
    if (!share->at_start && !at_end)
        return GNN_OK;
    return gnn_kv_set(&run->environment, GNN_ENVIRONMENT_SHARED,
                      !at_end            ? "start"
                      : !share->at_start ? "end"
                                         : "start and end",
                      err);
}

void gnn_run_share_close(struct gnn_run_share *share)
{
    (void)gnn_dataset_unshare(&share->lock_fd);
}
