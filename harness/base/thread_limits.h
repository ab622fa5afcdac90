/* SPDX-License-Identifier: MIT */
/* Explains why the kernel refused to start a thread or a process. The error is EAGAIN for every limit, so the message
 * names the limit that was reached, its value and the remedy. Such a failure is a fact about the machine and never the
 * result "oom" of a system. */
#ifndef GNN_BASE_THREAD_LIMITS_H
#define GNN_BASE_THREAD_LIMITS_H

#include "harness/base/own_groups.h"
#include "harness/oocgnn.h"

#include <assert.h>

/* The limits, and what is in use. A limit is GNN_UNKNOWN if there is none, a use if it is not known. */
struct gnn_thread_limits {
    uint64_t address_limit_bytes, address_used_bytes; /* address space of this process: ulimit -v */
    uint64_t stack_bytes;                             /* address space that one more thread needs */
    struct gnn_pids_limit pids;                       /* of the control groups */
    uint64_t user_limit, user_used;                   /* processes and threads of this user: ulimit -u */
};

/* Reads the limits of this process. `root` is put before every path of the kernel; "" is this machine. */
void gnn_thread_limits_read(const char *root, uint64_t stack_bytes, struct gnn_thread_limits *out);

/* Writes the limit that was reached, with its value and the remedy. A limit counts as reached from 7/8 of its value up,
 * because other threads may have ended since. If none was reached, the text names the limits of the machine. */
void gnn_thread_limits_explain(const struct gnn_thread_limits *limits, char *text, size_t text_bytes);

/* Returns whether the shell limits the memory of this process (ulimit -v, ulimit -d). Writes the limits and the remedy
 * to text, or "" if there is none. */
bool gnn_shell_limits_memory(char *text, size_t text_bytes);

/* Returns the stack of a thread that starts without attributes, guard included. */
uint64_t gnn_thread_stack_bytes(void);

/* Fills err for a thread or process that did not start because of `error`, an errno. `what` names it: "thread sample".
 * A process has 0 for stack_bytes. Returns GNN_ETHREADS for EAGAIN, else GNN_ENOMEM. */
#define gnn_fail_thread(err, what, error, stack_bytes)                                                                 \
    gnn_thread_failed(gnn_thread_refused((err), __FILE__, __LINE__, (what), (error), (stack_bytes)))
enum gnn_status gnn_thread_refused(struct gnn_err *err, const char *file, int line, const char *what, int error,
                                   uint64_t stack_bytes);

/* Returns status, which is an error: for readers and analysers that do not see the function above. */
static inline enum gnn_status gnn_thread_failed(enum gnn_status status)
{
    assert(status != GNN_OK);
    return status;
}

#endif
