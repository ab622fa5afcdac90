/* Small kernel text files. Internal to measure. */
#ifndef GNN_MEASURE_TEXT_H
#define GNN_MEASURE_TEXT_H

#include "harness/oocgnn.h"

/* The whole file as a string, cut at text_bytes - 1; false (and "") if it cannot be read. */
bool gnn_read_text(const char *path, char *text, size_t text_bytes);
/* Cuts white space off the end. */
void gnn_trim(char *text);
const char *gnn_next_line(const char *line);

#endif
