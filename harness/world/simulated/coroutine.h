/* SPDX-License-Identifier: MIT */
/* Stacks to switch between, on which the executor's threads run. One operating-system thread at a time uses them.
 *
 * A switch saves the registers that a function must preserve, in a few nanoseconds. It saves neither the signal mask
 * nor floating-point control words, which the threads of a simulated world share. Code exists for x86-64 and aarch64;
 * other processors use ucontext. AddressSanitizer and ThreadSanitizer are notified of each switch. */
#ifndef GNN_SIM_COROUTINE_H
#define GNN_SIM_COROUTINE_H

#include "harness/oocgnn.h"

/* Bytes of a stack. Its first page is a guard: overflow is a fault, not corruption. Pages are backed when touched. */
enum { SIM_COROUTINE_STACK_BYTES = 1 << 20 };

/* State of a coroutine. Only coroutine.c uses the fields, except `unordered`. */
struct sim_coroutine {
    void *stack; /* NULL: the stack of the thread that adopted it */
    void *saved; /* stack pointer, or context, while another coroutine runs */
    void (*fn)(void *arg);
    void *arg;
    void *fake_stack; /* sanitizers */
    const void *bottom;
    size_t bottom_bytes;
    void *fiber;
    bool unordered; /* set by its user: for ThreadSanitizer, switches to and from it order nothing */
};

/* Makes the calling stack a coroutine. */
void sim_coroutine_adopt(struct sim_coroutine *self);
/* Creates a stack on which fn(arg) starts at the first switch. fn must end with sim_coroutine_leave. GNN_ETHREADS: the
 * stack cannot be mapped. GNN_ENOMEM. */
GNN_MUST_CHECK enum gnn_status sim_coroutine_open(struct sim_coroutine *coroutine, void (*fn)(void *arg), void *arg,
                                                  struct gnn_err *err);
/* Frees the stack of a coroutine that never ran or has left. For an adopted one it frees what its switches needed. */
void sim_coroutine_close(struct sim_coroutine *coroutine);

/* Runs `to` until it switches back. from is the running coroutine. */
void sim_coroutine_switch(struct sim_coroutine *from, struct sim_coroutine *to);
/* Switches away from `from` for the last time. */
_Noreturn void sim_coroutine_leave(struct sim_coroutine *from, struct sim_coroutine *to);

#endif
