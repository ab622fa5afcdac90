/* SPDX-License-Identifier: MIT */
/* Folders and NumPy archives that may hold the arrays of a graph, and looking for an array in one of them. A
 * "container" is a folder or an archive. Internal to harness/dataset/. */
#ifndef GNN_DATASET_FIND_PLACES_H
#define GNN_DATASET_FIND_PLACES_H

#include "harness/dataset/npy.h"

enum { GNN_LISTING_MAX = 64, GNN_PLACES_MAX = 6 };

/* The first error of a search. After it nothing is found. */
struct gnn_finder {
    enum gnn_status status;
    struct gnn_err *err;
};

struct gnn_listing {
    uint32_t count;
    char name[GNN_LISTING_MAX][GNN_OUTPUT_PATH]; /* ascending */
};
void gnn_listing_close(struct gnn_listing *listing); /* accepts NULL */

/* The containers of node arrays, in the order in which they are searched. */
struct gnn_places {
    uint32_t count;
    char dir[GNN_PLACES_MAX][GNN_OUTPUT_PATH];
};
/* Fills in the containers that go with the edges at edge_path: its own, the folder of an archive, and from. Of a
 * relation such as paper__cites__paper, the folders paper and .. next to it follow. */
void gnn_places_of(const char *from, const char *edge_path, struct gnn_places *out);
void gnn_places_close(struct gnn_places *places);

/* Writes dir/name to path. */
void gnn_join(char path[GNN_OUTPUT_PATH], const char *dir, const char *name);
/* Writes the container of a file or a member to dir; "." for a name without one. */
void gnn_container_of(const char *path, char dir[GNN_OUTPUT_PATH]);
bool gnn_is_container(const char *path);
/* Returns path without the leading "dir/", or path. */
const char *gnn_below(const char *dir, const char *path);
/* Returns whether the last part of dir is KIND__relation__KIND, with the same kind twice, and writes the kind. */
bool gnn_relation_kind(const char *dir, char kind[GNN_OUTPUT_PATH]);

/* List names in a folder, ascending: the .npz files, and the arrays (.npy, maybe .gz) that start with `start`. Return
 * NULL if dir is no folder, or after an error. The caller closes the listing. */
struct gnn_listing *gnn_list_archives(struct gnn_finder *f, const char *dir);
struct gnn_listing *gnn_list_starts(struct gnn_finder *f, const char *dir, const char *start);
/* Lists the folders in a folder, with the path of dir. Returns NULL as above. */
struct gnn_listing *gnn_list_folders(struct gnn_finder *f, const char *dir);

/* Finds the array `stem`.npy in a container: a file, maybe .gz, or a member; with `archives`, also a member of the
 * archives in the folder. */
bool gnn_find_array(struct gnn_finder *f, const char *dir, const char *stem, bool archives, char path[GNN_OUTPUT_PATH]);
/* Finds the first array of `names` (NULL-terminated), or an archive of that name with one unnamed array. Archives are
 * searched for the first name alone; the others are too general. */
bool gnn_find_role(struct gnn_finder *f, const char *dir, const char *const *names, char path[GNN_OUTPUT_PATH]);
/* Reads the word of three letters that is the only item of an array of text. Returns false if it has another length. */
bool gnn_find_word(struct gnn_finder *f, const char *path, char word[4]);

/* Finds what an option names: a path, or a path below from. Returns GNN_ENOENT, which names both, if neither exists. */
GNN_MUST_CHECK enum gnn_status gnn_find_named(const char *from, const char *option, const char *name,
                                              char path[GNN_OUTPUT_PATH], struct gnn_err *err);

#endif
