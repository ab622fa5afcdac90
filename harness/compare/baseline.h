/* SPDX-License-Identifier: MIT */
/* A kept baseline: facts of a build in a JSON file, one value a line and in a fixed order, so that git shows what
 * changed; with what was accepted since, and why.
 *
 *   {"format": "oocgnn-baseline", "version": 1, "revision": ...,
 *    "cells": [{"config": {...}, "exact": {...}}, ...], "instructions": {...},
 *    "accepted": [{"reason": ..., "base": ..., "head": ..., "changes": [[cell, value, base, head], ...]}, ...]}
 *
 * A file without cells keeps accepted changes alone. */
#ifndef GNN_COMPARE_BASELINE_H
#define GNN_COMPARE_BASELINE_H

#include "harness/compare/facts.h"

/* Reads path; *accepted is an array the caller decrefs. facts may be NULL. GNN_ENOENT, GNN_EIO, GNN_EFORMAT with the
 * line. */
GNN_MUST_CHECK enum gnn_status gnn_baseline_read(const char *path, struct gnn_facts *facts, json_t **accepted,
                                                 struct gnn_err *err);

/* Writes path anew: to a file beside it first, renamed when it is whole. facts NULL: accepted changes alone, and what
 * else the file holds is lost. */
GNN_MUST_CHECK enum gnn_status gnn_baseline_write(const char *path, const struct gnn_facts *facts,
                                                  const json_t *accepted, struct gnn_err *err);

#endif
