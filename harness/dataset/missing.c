/* SPDX-License-Identifier: MIT */
#include "harness/dataset/missing.h"

#include "harness/base/plain_text.h"
#include "harness/dataset/prepare.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORD_BYTES = GNN_TEXT_MAX, COMMAND_BYTES = 2 * GNN_TEXT_MAX };

static bool has_meta(const char *dir)
{
    char meta[GNN_TEXT_MAX + 8];
    (void)snprintf(meta, sizeof meta, "%s/meta", dir);
    return access(meta, F_OK) == 0;
}

/* Appends the options of a generated graph that are not the usual ones. */
static void put_widths(const struct gnn_dataset_wanted *w, const struct gnn_registry_entry *entry, char *text,
                       size_t text_bytes)
{
    const size_t used = strlen(text);
    char dim[32] = "";
    if (w->dim != 0 && entry->kind != GNN_REGISTRY_KNOWLEDGE)
        (void)snprintf(dim, sizeof dim, " --dim %" PRIu32, w->dim);
    const bool half = w->feature_type == GNN_F16 && entry->kind != GNN_REGISTRY_KNOWLEDGE;
    (void)snprintf(text + used, text_bytes - used, "%s%s%s", dim, half ? " --feature-type f16" : "",
                   w->id_bytes == 8 ? " --id-bytes 8" : "");
}

/* Writes the command that generates the entry below data_dir. The graph `kron` has levels instead of a scale. */
static const char *generate_command(const struct gnn_dataset_wanted *w, const struct gnn_registry_entry *entry,
                                    uint32_t scale_divisor, const char *data_dir, char *text, size_t text_bytes)
{
    char word[WORD_BYTES], scale[32] = "";
    if (entry->kind != GNN_REGISTRY_KRON)
        (void)snprintf(scale, sizeof scale, " --scale 1/%" PRIu32, scale_divisor);
    (void)snprintf(text, text_bytes, "oocgnn prepare %s%s --data %s", entry->name, scale,
                   gnn_shell_word(data_dir, word, sizeof word));
    put_widths(w, entry, text, text_bytes);
    return text;
}

/* Takes NAME-1_K, the directory of a generated graph at scale 1/K, apart; false: that is no such directory. */
static bool take_apart(const char *dir, const struct gnn_registry_entry **entry, uint32_t *scale_divisor,
                       char parent[WORD_BYTES])
{
    const char *const slash = strrchr(dir, '/');
    const char *const base = slash != NULL ? slash + 1 : dir;
    const char *const mark = strstr(base, "-1_");
    char name[GNN_NAME_MAX], *end;
    if (slash == NULL || mark == NULL || mark - base >= (ptrdiff_t)sizeof name)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)(mark - base), base);
    (void)snprintf(parent, WORD_BYTES, "%.*s", (int)(slash == dir ? 1 : slash - dir), dir);
    const unsigned long divisor = strtoul(mark + 3, &end, 10);
    *scale_divisor = (uint32_t)divisor;
    return end != mark + 3 && *end == '\0' && divisor > 0 && divisor <= UINT32_MAX &&
           gnn_registry_find(name, entry, NULL) == GNN_OK && (*entry)->kind != GNN_REGISTRY_KRON;
}

static enum gnn_status missing_directory(const struct gnn_dataset_wanted *w, struct gnn_err *err)
{
    const struct gnn_registry_entry *entry;
    uint32_t scale_divisor;
    char command[COMMAND_BYTES], parent[WORD_BYTES], word[WORD_BYTES];
    if (take_apart(w->dir, &entry, &scale_divisor, parent))
        return gnn_fail(err, GNN_ENOENT, "%s: no dataset there (%s/meta is missing); `%s` makes it", w->name, w->dir,
                        generate_command(w, entry, scale_divisor, parent, command, sizeof command));
    return gnn_fail(err, GNN_ENOENT,
                    "%s: no dataset there (%s/meta is missing); choose a NAME of `oocgnn list datasets`, and "
                    "`oocgnn prepare NAME --out %s` makes it",
                    w->name, w->dir, gnn_shell_word(w->dir, word, sizeof word));
}

/* A name that is not in the registry is an import's. */
static enum gnn_status missing_import(const struct gnn_dataset_wanted *w, const char *unknown, struct gnn_err *err)
{
    char name[WORD_BYTES], data[WORD_BYTES];
    return gnn_fail(err, GNN_ENOENT,
                    "dataset %s: nothing of that name in %s (%s/meta is missing), and %s; `oocgnn prepare %s --from "
                    "DIR%s --data %s` imports it",
                    w->name, w->data_dir, w->dir, unknown, gnn_shell_word(w->name, name, sizeof name),
                    w->links ? " --format triples" : "", gnn_shell_word(w->data_dir, data, sizeof data));
}

enum gnn_status gnn_dataset_missing(const struct gnn_dataset_wanted *wanted, struct gnn_err *err)
{
    const char *const name = wanted->name, *const data = wanted->data_dir;
    const struct gnn_registry_entry *entry;
    struct gnn_err unknown = {0};
    char command[COMMAND_BYTES];
    if (strchr(name, '/') != NULL)
        return missing_directory(wanted, err);
    if (has_meta(name))
        return gnn_fail(err, GNN_ENOENT,
                        "dataset %s: %s has no dataset of that name, but the directory %s here is one: use `./%s`",
                        name, data, name, name);
    if (gnn_registry_find(name, &entry, &unknown) != GNN_OK)
        return missing_import(wanted, unknown.message, err);
    if (entry->kind == GNN_REGISTRY_KRON && wanted->scale_divisor != 1)
        return gnn_fail(err, GNN_EUSAGE, "dataset %s has no scale: leave --scale out", name);
    return gnn_fail(err, GNN_ENOENT, "dataset %s is not prepared (%s/meta is missing); `%s` prepares it", name,
                    wanted->dir, generate_command(wanted, entry, wanted->scale_divisor, data, command, sizeof command));
}

const char *gnn_dataset_command(const struct gnn_dataset_wanted *wanted, char *text, size_t text_bytes)
{
    const struct gnn_registry_entry *entry = NULL;
    const enum gnn_status status = gnn_registry_find(wanted->name, &entry, NULL);
    assert(status == GNN_OK);
    (void)status;
    return generate_command(wanted, entry, wanted->scale_divisor, wanted->data_dir, text, text_bytes);
}

enum gnn_status gnn_dataset_without_links(const struct gnn_dataset_wanted *wanted, const char *what,
                                          struct gnn_err *err)
{
    enum { EXAMPLE_DIVISOR = 100 }; /* where the run has no scale */
    const struct gnn_registry_entry *entry = gnn_registry;
    const uint32_t scale_divisor = wanted->scale_divisor > 1 ? wanted->scale_divisor : EXAMPLE_DIVISOR;
    char command[COMMAND_BYTES];
    while (entry->kind != GNN_REGISTRY_KNOWLEDGE)
        entry++;
    return gnn_fail(
        err, GNN_ENOTSUP,
        "--task link: %s has no triples (it is no knowledge graph). Import your own with --format triples, and a plain "
        "edge list with --format triples --columns ht. Or generate one: `%s`, and --dataset %s --scale 1/%" PRIu32,
        what, generate_command(wanted, entry, scale_divisor, wanted->data_dir, command, sizeof command), entry->name,
        scale_divisor);
}
