/* SPDX-License-Identifier: MIT */
#include "harness/dataset/find_splits.h"

#include "harness/base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SYNONYMS = 6, TRAIN = 0 };

static const char *const synonyms[GNN_FIND_SPLITS][SYNONYMS] = {
    {"train", "training", "tr", "trn"}, {"valid", "val", "dev", "validation", "va"}, {"test", "testing", "te", "tst"}};

/* Forms of the names of arrays. A name alone is too general to be looked for in archives. */
static const struct {
    const char *before, *behind;
    enum gnn_split_form form;
    bool archives;
} array_names[] = {
    {"", "_idx", GNN_SPLIT_IDS, true},   {"", "_index", GNN_SPLIT_IDS, true},   {"", "_ids", GNN_SPLIT_IDS, true},
    {"", "_mask", GNN_SPLIT_MASK, true}, {"", "_masks", GNN_SPLIT_MASK, true},  {"", "_indices", GNN_SPLIT_IDS, true},
    {"", "_id", GNN_SPLIT_IDS, true},    {"", "_nodes", GNN_SPLIT_IDS, true},   {"", "_nid", GNN_SPLIT_IDS, true},
    {"", "_nids", GNN_SPLIT_IDS, true},  {"", "_set", GNN_SPLIT_IDS, true},     {"idx_", "", GNN_SPLIT_IDS, true},
    {"mask_", "", GNN_SPLIT_MASK, true}, {"indices_", "", GNN_SPLIT_IDS, true}, {"", "", GNN_SPLIT_IDS, false},
};

/* Endings of the names of files with a node ID per line. */
static const char *const line_endings[] = {".csv", ".txt", "_idx.csv", "_idx.txt", "_ids.txt"};

static bool find_one(struct gnn_finder *f, const char *dir, const char *name, struct gnn_split_file *out)
{
    char stem[64];
    for (size_t e = 0; e < sizeof array_names / sizeof *array_names; e++) {
        (void)snprintf(stem, sizeof stem, "%s%s%s", array_names[e].before, name, array_names[e].behind);
        if (gnn_find_array(f, dir, stem, array_names[e].archives, out->path)) {
            out->form = array_names[e].form;
            return true;
        }
    }
    for (size_t n = 0; n < sizeof line_endings / sizeof *line_endings && f->status == GNN_OK; n++) {
        (void)snprintf(stem, sizeof stem, "%s%s", name, line_endings[n]);
        if (!gnn_input_is_npz(dir) && gnn_input_find(dir, stem, out->path)) {
            out->form = GNN_SPLIT_LINES;
            return true;
        }
    }
    return false;
}

/* A dictionary of splits that torch.save wrote. */
static bool find_torch(const char *dir, struct gnn_split_file splits[GNN_FIND_SPLITS])
{
    static const char *const names[] = {"split_dict.pt", "split_idx.pth", "split_idx.pt", "split_dict.pth"};
    char path[GNN_OUTPUT_PATH];
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        gnn_join(path, dir, names[n]);
        if (access(path, F_OK) != 0)
            continue;
        for (int i = 0; i < GNN_FIND_SPLITS; i++) {
            splits[i].form = GNN_SPLIT_TORCH;
            (void)snprintf(splits[i].path, sizeof splits[i].path, "%s", path);
        }
        return true;
    }
    return false;
}

static bool find_in(struct gnn_finder *f, const char *dir, struct gnn_split_file splits[GNN_FIND_SPLITS]);

/* An archive whose name marks it as the splits, so that general names in it are theirs. */
static void find_archive(struct gnn_finder *f, const char *dir, struct gnn_split_file splits[GNN_FIND_SPLITS])
{
    struct gnn_listing *const archives = gnn_list_archives(f, dir);
    for (uint32_t i = 0; archives != NULL && i < archives->count && splits[TRAIN].form == GNN_SPLIT_NONE; i++) {
        char path[GNN_OUTPUT_PATH];
        gnn_join(path, dir, archives->name[i]);
        if (strncmp(archives->name[i], "split", 5) == 0 && !find_in(f, path, splits))
            break;
    }
    gnn_listing_close(archives);
}

/* Returns whether the container has training nodes. Other splits without them are entered, too. */
static bool find_in(struct gnn_finder *f, const char *dir, struct gnn_split_file splits[GNN_FIND_SPLITS])
{
    for (int i = 0; i < GNN_FIND_SPLITS; i++) {
        splits[i].form = GNN_SPLIT_NONE;
        for (int s = 0; s < SYNONYMS && synonyms[i][s] != NULL && splits[i].form == GNN_SPLIT_NONE; s++)
            if (!find_one(f, dir, synonyms[i][s], &splits[i]))
                splits[i].form = GNN_SPLIT_NONE;
    }
    if (f->status == GNN_OK && splits[TRAIN].form == GNN_SPLIT_NONE && !find_torch(dir, splits))
        find_archive(f, dir, splits);
    return f->status == GNN_OK && splits[TRAIN].form != GNN_SPLIT_NONE;
}

/* Writes the folder that --split starts from. */
static void base_of(const struct gnn_import_source *source, char base[GNN_OUTPUT_PATH])
{
    if (gnn_input_is_npz(source->from))
        gnn_container_of(source->from, base);
    else
        (void)snprintf(base, GNN_OUTPUT_PATH, "%s", source->from);
}

/* The folder, or the file, that --split names: below --from, or as it is. */
static enum gnn_status find_named(struct gnn_finder *f, const struct gnn_import_source *source,
                                  struct gnn_array_files *out)
{
    char path[GNN_OUTPUT_PATH], base[GNN_OUTPUT_PATH];
    base_of(source, base);
    gnn_join(path, base, source->split);
    if (access(path, F_OK) != 0 && access(source->split, F_OK) == 0)
        (void)snprintf(path, sizeof path, "%s", source->split);
    if (access(path, F_OK) == 0 && !gnn_is_container(path)) {
        for (int i = 0; i < GNN_FIND_SPLITS; i++) {
            out->split[i].form = GNN_SPLIT_TORCH;
            (void)snprintf(out->split[i].path, GNN_OUTPUT_PATH, "%s", path);
        }
        return GNN_OK;
    }
    if (find_in(f, path, out->split) || f->status != GNN_OK)
        return f->status;
    return gnn_fail(f->err, GNN_ENOENT,
                    "%s has neither train_idx.npy nor train.csv (nor either with .gz), nor train_mask.npy or "
                    "split_dict.pt",
                    path);
}

/* Warns of lists next to masks, which may be another split. */
static void warn_of_masks(struct gnn_finder *f, const char *dir, const struct gnn_split_file *train)
{
    char path[GNN_OUTPUT_PATH];
    if (train->form == GNN_SPLIT_IDS && gnn_find_array(f, dir, "train_mask", false, path))
        gnn_log_warn("splits are read from %s; %s is not read: remove the files that are not meant", train->path, path);
}

struct candidates {
    uint32_t count;
    char option[128]; /* the first two, as values of --split */
    char first[GNN_OUTPUT_PATH];
};

/* Looks at dir/NAME and at the folders in it, which --split names by their path below `base`. */
static void look_below(struct gnn_finder *f, const char *base, const char *dir, const char *name, struct candidates *c)
{
    char path[GNN_OUTPUT_PATH];
    struct gnn_split_file splits[GNN_FIND_SPLITS];
    gnn_join(path, dir, name);
    struct gnn_listing *const below = gnn_list_folders(f, path);
    for (uint32_t i = 0; below != NULL && i <= below->count && f->status == GNN_OK; i++) {
        const char *const place = i == 0 ? path : below->name[i - 1];
        if (!find_in(f, place, splits))
            continue;
        if (c->count++ == 0)
            (void)snprintf(c->first, sizeof c->first, "%s", place);
        const size_t used = strlen(c->option);
        if (c->count <= 2)
            (void)snprintf(c->option + used, sizeof c->option - used, "%s--split %s", c->count > 1 ? " or " : "",
                           gnn_below(base, place));
    }
    gnn_listing_close(below);
}

/* Writes the folder above dir, by its name if dir is below base. */
static void above_of(const char *base, const char *dir, char above[GNN_OUTPUT_PATH])
{
    const char *const below = gnn_below(base, dir);
    if (below != dir && below[0] != '\0')
        gnn_container_of(dir, above);
    else
        gnn_join(above, dir, "..");
}

/* Splits in split/KIND next to the arrays or next to their folder, as OGB ships them. */
static enum gnn_status find_nearby(struct gnn_finder *f, const struct gnn_import_source *source,
                                   const struct gnn_places *places, struct gnn_array_files *out)
{
    static const char *const names[] = {"split", "splits"};
    struct candidates c = {0};
    char base[GNN_OUTPUT_PATH], above[GNN_OUTPUT_PATH];
    base_of(source, base);
    for (uint32_t i = 0; i < places->count; i++) {
        above_of(base, places->dir[i], above);
        for (uint32_t n = 0; n < 2 && c.count == 0; n++) {
            look_below(f, base, places->dir[i], names[n], &c);
            if (c.count == 0)
                look_below(f, base, above, names[n], &c);
        }
    }
    GNN_TRY(f->status);
    if (c.count > 1)
        return gnn_fail(f->err, GNN_EUSAGE, "%s has several splits: choose with %s", source->from, c.option);
    if (c.count == 1 && find_in(f, c.first, out->split))
        (void)snprintf(out->split_dir, sizeof out->split_dir, "%s", c.first);
    return f->status;
}

enum gnn_status gnn_find_splits(const struct gnn_import_source *source, const struct gnn_places *places,
                                struct gnn_array_files *out, struct gnn_err *err)
{
    struct gnn_finder f = {.err = err};
    struct gnn_split_file incomplete[GNN_FIND_SPLITS] = {{0}};
    if (source->split_by_id)
        return GNN_OK;
    if (source->split != NULL)
        return find_named(&f, source, out);
    for (uint32_t i = 0; i < places->count && f.status == GNN_OK; i++) {
        if (find_in(&f, places->dir[i], out->split)) {
            warn_of_masks(&f, places->dir[i], &out->split[TRAIN]);
            return f.status;
        }
        for (int s = 0; s < GNN_FIND_SPLITS; s++)
            if (out->split[s].form != GNN_SPLIT_NONE)
                incomplete[s] = out->split[s];
    }
    memset(out->split, 0, sizeof out->split);
    GNN_TRY(f.status);
    GNN_TRY(find_nearby(&f, source, places, out));
    if (out->split[TRAIN].form == GNN_SPLIT_NONE)
        memcpy(out->split, incomplete, sizeof incomplete);
    return GNN_OK;
}
