/* SPDX-License-Identifier: MIT */
/* Checksums of files and of memory: XXH3-128 in hex, as `xxh128sum` prints it. */
#ifndef GNN_STORAGE_CHECKSUM_H
#define GNN_STORAGE_CHECKSUM_H

#include "harness/oocgnn.h"

enum { GNN_CHECKSUM_TEXT = 33 }; /* 32 hex digits and the terminator */

/* XXH3-128 of a stream, in hex as `xxh128sum` prints it. GNN_ENOMEM. */
struct gnn_checksum;
GNN_MUST_CHECK enum gnn_status gnn_checksum_open(struct gnn_checksum **out, struct gnn_err *err);
void gnn_checksum_add(struct gnn_checksum *checksum, const void *data, uint64_t bytes);
void gnn_checksum_text(const struct gnn_checksum *checksum, char text[GNN_CHECKSUM_TEXT]);
void gnn_checksum_close(struct gnn_checksum *checksum); /* accepts NULL */

/* Writes the checksum of bytes in memory. */
void gnn_checksum_of(const void *data, uint64_t bytes, char text[GNN_CHECKSUM_TEXT]);

#endif
