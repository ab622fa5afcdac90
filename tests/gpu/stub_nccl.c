/* SPDX-License-Identifier: MIT */
/* A stand-in for libnccl.so.2, for several workers on the test suite's launcher: the calls that
 * harness/tensor/cuda/group.cc makes, between processes of this machine. It sums what lies in the host's memory,
 * through shared memory, in the order of the ranks. As NCCL's communicators that do not block: a call returns at once,
 * and looking at the state is what moves things on.
 *
 *   STUB_NCCL_FAILS=CALL:RANK:NTH   the nth such call of that rank fails; CALL is name, init, sum, state or end
 *   STUB_NCCL_VERSION=N             what it says it is; 22809 */
#include "harness/tensor/cuda/nccl_calls.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MAX = 8, REALS_MAX = 1 << 18, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, REMOTE_ERROR = 6 };
enum waits_for { NOTHING, ALL_JOINED, ALL_POSTED, ALL_ENDED };

/* Shared. A rank posts its next values beside those that others may still read: it cannot be two ahead. */
struct meeting {
    atomic_uint joined, ended;
    atomic_uint posted[RANKS_MAX];
    float values[2][RANKS_MAX][REALS_MAX];
};

struct ncclComm {
    struct meeting *meeting;
    char name[GNN_NCCL_NAME_BYTES];
    int ranks, rank;
    enum waits_for waits_for;
    uint32_t sums;
    float *to;
    size_t count;
    unsigned calls[2]; /* of sum and state, for STUB_NCCL_FAILS */
};

static bool fails(const char *call, int rank, unsigned nth)
{
    const char *const asked = getenv("STUB_NCCL_FAILS");
    char word[16];
    int of_rank;
    unsigned number;
    return asked != NULL && sscanf(asked, "%15[a-z]:%d:%u", word, &of_rank, &number) == 3 && strcmp(word, call) == 0 &&
           of_rank == rank && number == nth;
}

int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
    const char *const asked = getenv("STUB_NCCL_VERSION");
    *version = asked != NULL ? (int)strtol(asked, NULL, 10) : 22809;
    return GNN_NCCL_SUCCESS;
}

int ncclGetUniqueId(struct gnn_nccl_name *name);
int ncclGetUniqueId(struct gnn_nccl_name *name)
{
    struct timespec now;
    if (fails("name", 0, 1))
        return SYSTEM_ERROR;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    memset(name, 0, sizeof *name);
    (void)snprintf(name->bytes, sizeof name->bytes, "/oocgnn-stub-nccl-%ld-%lld", (long)getpid(),
                   (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    const int fd = shm_open(name->bytes, O_RDWR | O_CREAT | O_EXCL, 0600);
    const int failed = fd < 0 || ftruncate(fd, sizeof(struct meeting)) != 0;
    if (fd >= 0)
        (void)close(fd);
    return failed ? SYSTEM_ERROR : GNN_NCCL_SUCCESS;
}

int ncclCommInitRankConfig(struct ncclComm **out, int ranks, struct gnn_nccl_name name, int rank,
                           struct gnn_nccl_config *config);
int ncclCommInitRankConfig(struct ncclComm **out, int ranks, struct gnn_nccl_name name, int rank,
                           struct gnn_nccl_config *config)
{
    if (config->magic != GNN_NCCL_MAGIC || config->bytes != sizeof *config || config->blocking != 0 ||
        ranks > RANKS_MAX || rank >= ranks)
        return INVALID_ARGUMENT;
    if (fails("init", rank, 1))
        return SYSTEM_ERROR;
    struct ncclComm *const comm = calloc(1, sizeof *comm);
    const int fd = shm_open(name.bytes, O_RDWR, 0600);
    void *const memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (comm == NULL || memory == MAP_FAILED) {
        free(comm);
        return SYSTEM_ERROR;
    }
    comm->meeting = memory;
    comm->ranks = ranks;
    comm->rank = rank;
    memcpy(comm->name, name.bytes, sizeof comm->name);
    comm->waits_for = ALL_JOINED;
    (void)atomic_fetch_add(&comm->meeting->joined, 1);
    *out = comm;
    return GNN_NCCL_IN_PROGRESS;
}

static bool all_posted(const struct ncclComm *comm)
{
    for (int r = 0; r < comm->ranks; r++)
        if (atomic_load(&comm->meeting->posted[r]) < comm->sums)
            return false;
    return true;
}

static void sum(struct ncclComm *comm)
{
    for (size_t k = 0; k < comm->count; k++) {
        float total = 0;
        for (int r = 0; r < comm->ranks; r++)
            total += comm->meeting->values[comm->sums % 2][r][k];
        comm->to[k] = total;
    }
}

/* Whether what the communicator waits for is there. */
static bool there(struct ncclComm *comm)
{
    const unsigned ranks = (unsigned)comm->ranks;
    switch (comm->waits_for) {
    case ALL_JOINED:
        return atomic_load(&comm->meeting->joined) == ranks;
    case ALL_POSTED:
        if (!all_posted(comm))
            return false;
        sum(comm);
        return true;
    case ALL_ENDED:
        return atomic_load(&comm->meeting->ended) == ranks;
    default:
        return true;
    }
}

int ncclCommGetAsyncError(struct ncclComm *comm, int *state);
int ncclCommGetAsyncError(struct ncclComm *comm, int *state)
{
    *state = GNN_NCCL_SUCCESS;
    if (fails("state", comm->rank, ++comm->calls[1]))
        *state = REMOTE_ERROR;
    else if (!there(comm))
        *state = GNN_NCCL_IN_PROGRESS;
    else
        comm->waits_for = NOTHING;
    return GNN_NCCL_SUCCESS;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, void *stream);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, void *stream)
{
    (void)stream;
    if (fails("sum", comm->rank, ++comm->calls[0]))
        return SYSTEM_ERROR;
    if (type != GNN_NCCL_FLOAT || op != GNN_NCCL_SUM || count > REALS_MAX || comm->waits_for != NOTHING)
        return INVALID_ARGUMENT;
    comm->sums++;
    comm->to = to;
    comm->count = count;
    memcpy(comm->meeting->values[comm->sums % 2][comm->rank], from, count * sizeof(float));
    atomic_store(&comm->meeting->posted[comm->rank], comm->sums);
    comm->waits_for = ALL_POSTED;
    return GNN_NCCL_IN_PROGRESS;
}

int ncclCommFinalize(struct ncclComm *comm);
int ncclCommFinalize(struct ncclComm *comm)
{
    if (fails("end", comm->rank, 1))
        return SYSTEM_ERROR;
    (void)atomic_fetch_add(&comm->meeting->ended, 1);
    comm->waits_for = ALL_ENDED;
    return GNN_NCCL_IN_PROGRESS;
}

int ncclCommAbort(struct ncclComm *comm);
int ncclCommAbort(struct ncclComm *comm)
{
    (void)shm_unlink(comm->name); /* the first takes the name away */
    (void)munmap(comm->meeting, sizeof *comm->meeting);
    free(comm);
    return GNN_NCCL_SUCCESS;
}

int ncclCommDestroy(struct ncclComm *comm);
int ncclCommDestroy(struct ncclComm *comm)
{
    return comm->waits_for == NOTHING ? ncclCommAbort(comm) : INVALID_ARGUMENT;
}

const char *ncclGetErrorString(int result);
const char *ncclGetErrorString(int result)
{
    return result == SYSTEM_ERROR ? "made-up system error" : result == REMOTE_ERROR ? "made-up remote error" : "error";
}

const char *ncclGetLastError(struct ncclComm *comm);
const char *ncclGetLastError(struct ncclComm *comm)
{
    (void)comm;
    return "the stand-in was told to fail";
}
