/* SPDX-License-Identifier: MIT */
/* A baseline file: facts of a build as JSON, with the changes that were accepted later and their reasons. It has one
 * value per line, in a fixed order, so that git shows what changed. Without `cells`, the file has accepted changes
 * only. "job" is the place in the job file; older files do not have it.
 *
 *   `{"format": "oocgnn-baseline", "version": 1, "revision": ...,
 *    "cells": [{"job": ..., "config": {...}, "exact": {...}}, ...], "instructions": {...},
 *    "accepted": [{"reason": ..., "base": ..., "head": ..., "changes": [[cell, value, base, head], ...]}, ...]}` */
#ifndef GNN_COMPARE_BASELINE_H
#define GNN_COMPARE_BASELINE_H

#include "harness/compare/facts.h"

/* Reads path. *accepted is an array that the caller decrefs. facts may be NULL. Returns GNN_ENOENT, GNN_EPERM,
 * GNN_EUSAGE for an empty file or one that is not regular, or GNN_EFORMAT with the line. */
GNN_MUST_CHECK enum gnn_status gnn_baseline_read(const char *path, struct gnn_facts *facts, json_t **accepted,
                                                 struct gnn_err *err);

/* Writes a new file at path. It is first written to another name in the same directory, then renamed. facts NULL:
 * writes accepted changes only, and all other content of the old file is lost. Returns GNN_EIO if it cannot be
 * written. */
GNN_MUST_CHECK enum gnn_status gnn_baseline_write(const char *path, const struct gnn_facts *facts,
                                                  const json_t *accepted, struct gnn_err *err);

#endif
