/* SPDX-License-Identifier: MIT */
/* Messages for people on stderr: "oocgnn: text". Results are never written here. */
#ifndef GNN_BASE_LOG_H
#define GNN_BASE_LOG_H

#define gnn_log_info(...) gnn_log("", __VA_ARGS__)
#define gnn_log_warn(...) gnn_log("warning: ", __VA_ARGS__)

/* Writes one line to stderr in a single fprintf, so that lines of two processes do not mix. Text is cut at 1023
 * bytes. */
void gnn_log(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
