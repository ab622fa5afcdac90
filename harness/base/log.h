/* SPDX-License-Identifier: MIT */
/* Lines for people, on stderr: "oocgnn: text". Results never go through here. */
#ifndef GNN_BASE_LOG_H
#define GNN_BASE_LOG_H

#define gnn_log_info(...) gnn_log("", __VA_ARGS__)
#define gnn_log_warn(...) gnn_log("warning: ", __VA_ARGS__)

/* One fprintf a line, so that lines of two processes do not mix. */
void gnn_log(const char *label, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
