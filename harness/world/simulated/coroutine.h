/* SPDX-License-Identifier: MIT */
/* Stacks to switch between: what the executor's threads run on. One operating-system thread at a time uses them.
 *
 * A switch saves the registers a function must keep, and neither the signal mask nor floating-point control words,
 * which the threads of a simulated world share: a few nanoseconds. x86-64 and aarch64 have their own code, anything
 * else uses ucontext. AddressSanitizer and ThreadSanitizer are told. */
#ifndef GNN_SIM_COROUTINE_H
#define GNN_SIM_COROUTINE_H

#include "harness/oocgnn.h"

/* The first page of a stack is a guard: overflow is a fault, not corruption. Pages are backed as they are touched. */
enum { SIM_COROUTINE_STACK_BYTES = 1 << 20 };

/* Fields are coroutine.c's. */
struct sim_coroutine {
    void *stack; /* NULL: the stack of the thread that adopted it */
    void *saved; /* where it stands while another runs */
    void (*fn)(void *arg);
    void *arg;
    void *fake_stack; /* sanitizers */
    const void *bottom;
    size_t bottom_bytes;
    void *fiber;
    bool unordered; /* its user may set it: no switch to it or from it orders anything, as ThreadSanitizer sees it */
};

/* Makes the calling stack a coroutine. */
void sim_coroutine_adopt(struct sim_coroutine *self);
/* Makes a new stack, on which fn(arg) starts at the first switch. fn must end with sim_coroutine_leave. */
GNN_MUST_CHECK enum gnn_status sim_coroutine_open(struct sim_coroutine *coroutine, void (*fn)(void *arg), void *arg,
                                                  struct gnn_err *err);
/* Frees the stack of a coroutine that never ran or has left; of an adopted one, what its switches needed. */
void sim_coroutine_close(struct sim_coroutine *coroutine);

/* Runs `to` until it switches back. from is the running coroutine. */
void sim_coroutine_switch(struct sim_coroutine *from, struct sim_coroutine *to);
/* Switches away from `from` for the last time. */
_Noreturn void sim_coroutine_leave(struct sim_coroutine *from, struct sim_coroutine *to);

#endif
