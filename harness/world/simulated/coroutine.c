/* SPDX-License-Identifier: MIT */
#include "harness/world/simulated/coroutine.h"

#include "harness/base/thread_limits.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __has_feature /* clang */
#define HAS_FEATURE(name) __has_feature(name)
#else
#define HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define UNDER_ASAN 1
#else
#define UNDER_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define UNDER_TSAN 1
/* What a switch looks at is the executor's and no thread's. */
#define NOT_WATCHED __attribute__((no_sanitize("thread")))
#else
#define UNDER_TSAN 0
#define NOT_WATCHED
#endif

/* Runs on a coroutine's own stack. */
void sim_coroutine_main(struct sim_coroutine *self);

/* ---- the switch itself: save the callee's registers on the stack, change stacks, take them back ---- */

#if defined(__x86_64__)

void sim_stack_switch(void **save, void *load);
void sim_stack_first(void);

__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden sim_stack_switch\n"
        ".globl sim_stack_switch\n"
        ".type sim_stack_switch, @function\n"
        "sim_stack_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n"
        "    jmpq *%rcx\n"
        ".size sim_stack_switch, . - sim_stack_switch\n"
        ".p2align 4\n"
        ".hidden sim_stack_first\n"
        ".globl sim_stack_first\n"
        ".type sim_stack_first, @function\n"
        "sim_stack_first:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n" /* a backtrace ends here */
        "    movq %r12, %rdi\n"
        "    callq *%r13\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size sim_stack_first, . - sim_stack_first\n"
        ".popsection\n");

/* Nine words leave the stack pointer at a multiple of 16 when sim_stack_first starts. */
enum { FRAME_WORDS = 9, FRAME_ARG = 3, FRAME_MAIN = 2, FRAME_RETURN = 6 };

#elif defined(__aarch64__)

void sim_stack_switch(void **save, void *load);
void sim_stack_first(void);

__asm__(".pushsection .text\n"
        ".p2align 4\n"
        ".hidden sim_stack_switch\n"
        ".globl sim_stack_switch\n"
        ".type sim_stack_switch, %function\n"
        "sim_stack_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size sim_stack_switch, . - sim_stack_switch\n"
        ".p2align 4\n"
        ".hidden sim_stack_first\n"
        ".globl sim_stack_first\n"
        ".type sim_stack_first, %function\n"
        "sim_stack_first:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n" /* a backtrace ends here */
        "    mov x0, x19\n"
        "    blr x20\n"
        "    brk #0\n"
        "    .cfi_endproc\n"
        ".size sim_stack_first, . - sim_stack_first\n"
        ".popsection\n");

enum { FRAME_WORDS = 20, FRAME_ARG = 0, FRAME_MAIN = 1, FRAME_RETURN = 11 };

#endif

#if defined(__x86_64__) || defined(__aarch64__)

/* What the first switch to a new stack takes from it: zeros, but for the registers sim_stack_first reads. */
static enum gnn_status prepare(struct sim_coroutine *coroutine, struct gnn_err *err)
{
    (void)err;
    uintptr_t *const frame =
        (uintptr_t *)(void *)((unsigned char *)coroutine->stack + SIM_COROUTINE_STACK_BYTES) - FRAME_WORDS;
    frame[FRAME_ARG] = (uintptr_t)coroutine;
    frame[FRAME_MAIN] = (uintptr_t)sim_coroutine_main;
    frame[FRAME_RETURN] = (uintptr_t)sim_stack_first;
    coroutine->saved = frame;
    return GNN_OK;
}

static void release(struct sim_coroutine *coroutine)
{
    (void)coroutine;
}

NOT_WATCHED static void swap(struct sim_coroutine *from, struct sim_coroutine *to)
{
    sim_stack_switch(&from->saved, to->saved);
}

#else

#include <ucontext.h>

/* makecontext passes ints: the pointer goes over in two. */
static void first(unsigned high, unsigned low)
{
    sim_coroutine_main((struct sim_coroutine *)(((uintptr_t)high << 16 << 16) | low));
}

static enum gnn_status prepare(struct sim_coroutine *coroutine, struct gnn_err *err)
{
    ucontext_t *const context = calloc(1, sizeof *context);
    coroutine->saved = context;
    if (context == NULL || getcontext(context) != 0)
        return gnn_fail(err, GNN_ENOMEM, "coroutine's context: %zu bytes", sizeof *context);
    context->uc_stack.ss_sp = coroutine->stack;
    context->uc_stack.ss_size = SIM_COROUTINE_STACK_BYTES;
    const uintptr_t word = (uintptr_t)coroutine;
    makecontext(context, (void (*)(void))first, 2, (unsigned)(word >> 16 >> 16), (unsigned)word);
    return GNN_OK;
}

static void release(struct sim_coroutine *coroutine)
{
    free(coroutine->saved);
}

/* The adopted stack has no context of its own until it is left for the first time. */
NOT_WATCHED static void swap(struct sim_coroutine *from, struct sim_coroutine *to)
{
    if (from->saved == NULL)
        from->saved = calloc(1, sizeof(ucontext_t));
    if (from->saved == NULL || swapcontext(from->saved, to->saved) != 0)
        abort(); /* a switch has no caller to report to: without a context this stack could not go on */
}

#endif

/* ---- open, close ---- */

void sim_coroutine_adopt(struct sim_coroutine *self)
{
    *self = (struct sim_coroutine){0};
#if UNDER_ASAN
    pthread_attr_t attr;
    void *bottom = NULL;
    size_t bytes = 0;
    int rc = pthread_getattr_np(pthread_self(), &attr);
    assert(rc == 0);
    rc = pthread_attr_getstack(&attr, &bottom, &bytes);
    assert(rc == 0);
    (void)pthread_attr_destroy(&attr);
    self->bottom = bottom;
    self->bottom_bytes = bytes;
#endif
#if UNDER_TSAN
    self->fiber = __tsan_get_current_fiber();
#endif
}

enum gnn_status sim_coroutine_open(struct sim_coroutine *coroutine, void (*fn)(void *arg), void *arg,
                                   struct gnn_err *err)
{
    *coroutine = (struct sim_coroutine){.fn = fn, .arg = arg};
    void *const stack = mmap(NULL, SIM_COROUTINE_STACK_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return gnn_fail_thread(err, "a simulated thread", EAGAIN, SIM_COROUTINE_STACK_BYTES); /* as of a real one */
    coroutine->stack = stack;
    coroutine->bottom = stack;
    coroutine->bottom_bytes = SIM_COROUTINE_STACK_BYTES;
#if UNDER_ASAN
    __asan_unpoison_memory_region(stack, SIM_COROUTINE_STACK_BYTES); /* a former stack may have lain here */
#endif
    enum gnn_status status = GNN_OK;
    if (mprotect(stack, GNN_PAGE_BYTES, PROT_NONE) != 0)
        status = gnn_fail_thread(err, "a simulated thread", EAGAIN, SIM_COROUTINE_STACK_BYTES);
    GNN_NEXT(status, prepare(coroutine, err));
    if (status != GNN_OK) {
        sim_coroutine_close(coroutine);
        return status;
    }
#if UNDER_TSAN
    coroutine->fiber = __tsan_create_fiber(0);
#endif
    return GNN_OK;
}

void sim_coroutine_close(struct sim_coroutine *coroutine)
{
    release(coroutine);
    if (coroutine->stack == NULL)
        return;
#if UNDER_TSAN
    if (coroutine->fiber != NULL)
        __tsan_destroy_fiber(coroutine->fiber);
#endif
    const int rc = munmap(coroutine->stack, SIM_COROUTINE_STACK_BYTES);
    assert(rc == 0);
    coroutine->stack = NULL;
}

/* ---- switching ---- */

NOT_WATCHED static void announce(struct sim_coroutine *from, const struct sim_coroutine *to, bool leaving)
{
#if UNDER_ASAN
    __sanitizer_start_switch_fiber(leaving ? NULL : &from->fake_stack, to->bottom, to->bottom_bytes);
#endif
#if UNDER_TSAN
    __tsan_switch_to_fiber(to->fiber, from->unordered || to->unordered ? __tsan_switch_to_fiber_no_sync : 0);
#endif
    (void)from;
    (void)to;
    (void)leaving;
}

NOT_WATCHED void sim_coroutine_switch(struct sim_coroutine *from, struct sim_coroutine *to)
{
    announce(from, to, false);
    swap(from, to);
#if UNDER_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

NOT_WATCHED _Noreturn void sim_coroutine_leave(struct sim_coroutine *from, struct sim_coroutine *to)
{
    announce(from, to, true);
    swap(from, to);
    abort(); /* a bug: something has switched to a coroutine that has left */
}

void sim_coroutine_main(struct sim_coroutine *self)
{
    assert(self->stack != NULL);
#if UNDER_ASAN
    __sanitizer_finish_switch_fiber(NULL, NULL, NULL);
#endif
    self->fn(self->arg);
    abort(); /* a bug: fn returned instead of leaving, and below it the stack is empty */
}
