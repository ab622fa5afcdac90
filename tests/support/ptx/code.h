/* SPDX-License-Identifier: MIT */
/* A parsed kernel. Registers, immediate values, special registers and addresses of variables are all slots, so that an
 * operand is the number of a slot. A slot has 64 bits a lane, of which the register's width counts. */
#ifndef GNN_TESTS_PTX_CODE_H
#define GNN_TESTS_PTX_CODE_H

#include "tests/support/ptx/ptx.h"

enum {
    PTX_LANES = 32,
    PTX_SLOTS_MAX = 8192,
    PTX_SHARED_MAX = 48 << 10,
    PTX_LOCAL_MAX = 16 << 10,
    PTX_PARAMETERS_MAX = 32764, /* bytes */
    PTX_OPERANDS_MAX = 5,
    PTX_NONE = INT32_MAX,
};

/* Addresses of shared and local variables in generic form. No host address has these bits. */
#define PTX_SHARED_WINDOW (UINT64_C(1) << 62)
#define PTX_LOCAL_WINDOW (UINT64_C(1) << 63)

enum ptx_kind {
    PTX_VALUE, /* a function of up to three sources */
    PTX_PACK,
    PTX_UNPACK,
    PTX_LOAD,
    PTX_STORE,
    PTX_BRANCH,
    PTX_EXIT,
    PTX_BARRIER,
    PTX_WARP_BARRIER,
    PTX_SHUFFLE,
};

enum ptx_space { PTX_GENERIC, PTX_GLOBAL, PTX_SHARED, PTX_LOCAL, PTX_PARAM };
enum ptx_shuffle { PTX_UP, PTX_DOWN, PTX_BUTTERFLY, PTX_INDEX };

typedef uint64_t ptx_function(uint64_t a, uint64_t b, uint64_t c);

/* A row of the table of value opcodes, ops.c. */
struct ptx_op {
    const char *name; /* with all modifiers */
    uint32_t sources;
    ptx_function *function;
};

/* Returns the opcode's row, or NULL if the table lacks it. */
const struct ptx_op *ptx_op_find(const char *name, size_t length);

struct ptx_step {
    enum ptx_kind kind;
    ptx_function *function; /* PTX_VALUE */
    uint32_t guard;         /* a predicate's slot, or PTX_NONE */
    bool guard_negated;
    uint32_t to[4], to_count;
    uint32_t from[PTX_OPERANDS_MAX], from_count; /* loads and stores: the address first */
    int64_t offset;
    enum ptx_space space;
    uint32_t bytes; /* of an element */
    bool sign;      /* loads extend it */
    enum ptx_shuffle shuffle;
    uint32_t target;                         /* PTX_BRANCH: a step */
    uint32_t line, source_file, source_line; /* source_file 0: unknown */
};

enum ptx_slot_kind { PTX_REGISTER, PTX_CONSTANT, PTX_TID, PTX_CTAID, PTX_NTID, PTX_NCTAID, PTX_LANEID };

struct ptx_slot {
    enum ptx_slot_kind kind;
    uint64_t value; /* PTX_CONSTANT */
    uint32_t bits;
    uint32_t family, number; /* PTX_REGISTER: its name */
};

/* Registers %name0, %name1 ..., or one called %name. */
struct ptx_family {
    char name[24];
    uint32_t first, count, bits;
    bool numbered;
};

struct ptx_kernel {
    const struct ptx_module *module;
    char *name;
    struct ptx_parameter *parameters;
    struct ptx_step *steps;
    struct ptx_slot *slots;
    struct ptx_family *families;
    uint32_t parameter_count, parameter_room, parameter_bytes;
    uint32_t step_count, step_room;
    uint32_t slot_count, slot_room;
    uint32_t family_count, family_room;
    uint32_t shared_bytes, local_bytes;
};

struct ptx_source {
    uint32_t number;
    char *path;
};

struct ptx_module {
    char *file;
    struct ptx_kernel **kernels;
    struct ptx_source *sources;
    uint32_t kernel_count, kernel_room, source_count, source_room;
};

#endif
