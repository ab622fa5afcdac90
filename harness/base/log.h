/* Lines for people, on stderr: "oocgnn: text". Results never go through here. */
#ifndef GNN_BASE_LOG_H
#define GNN_BASE_LOG_H

void gnn_log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gnn_log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
