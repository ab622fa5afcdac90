/* SPDX-License-Identifier: MIT */
/* What the two halves of the parser share: declarations (parse.c) and instructions (decode.c). */
#ifndef GNN_TESTS_PTX_PARSE_H
#define GNN_TESTS_PTX_PARSE_H

#include "tests/support/ptx/code.h"
#include "tests/support/ptx/scan.h"

/* A parameter or a variable of the kernel. Its address is `slot`. */
struct ptx_variable {
    struct ptx_token name;
    enum ptx_space space;
    uint32_t offset, bytes, slot;
};

struct ptx_label {
    struct ptx_token name;
    uint32_t step; /* PTX_NONE: not reached yet */
};

struct ptx_parser {
    struct ptx_scan scan;
    struct ptx_module *module;
    struct ptx_kernel *kernel; /* being read */
    struct ptx_variable *variables;
    struct ptx_label *labels;
    uint32_t variable_count, variable_room, label_count, label_room;
    uint32_t source_file, source_line; /* of the last .loc */
    struct gnn_err *err;
};

/* Fail with file and line of the token, and with its text. */
enum gnn_status ptx_expected(const struct ptx_parser *p, const struct ptx_token *at, const char *what);
enum gnn_status ptx_unknown(const struct ptx_parser *p, const struct ptx_token *at, const char *what);
enum gnn_status ptx_no_memory(const struct ptx_parser *p);

/* Take a mark, or a number of at most `most`. */
enum gnn_status ptx_take_mark(struct ptx_parser *p, char mark);
enum gnn_status ptx_take_number(struct ptx_parser *p, uint64_t most, uint64_t *out);

/* Adds a slot to the kernel. */
enum gnn_status ptx_add_slot(struct ptx_parser *p, struct ptx_slot slot, uint32_t *out);
/* Finds a label, or adds it unreached. */
enum gnn_status ptx_label_of(struct ptx_parser *p, struct ptx_token name, uint32_t *out);
/* Returns the bytes of a type such as "f32", or 0 if it is none. `name` is not terminated. */
uint32_t ptx_type_bytes(const char *name, size_t length);

/* Reads the rest of an instruction that begins with the token `first` (a guard or an opcode), up to its semicolon. */
enum gnn_status ptx_instruction(struct ptx_parser *p, struct ptx_token first);

#endif
