/* SPDX-License-Identifier: MIT */
#include "harness/cli/rerun_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 256 };

/* Adds a difference; false if memory is short. NULL stands for a value that one side lacks. */
static bool add(json_t *list, const char *what, const json_t *then, const json_t *now)
{
    json_t *const entry =
        json_pack("{s:s, s:o, s:o}", "what", what, "then", then != NULL ? json_deep_copy(then) : json_null(), "now",
                  now != NULL ? json_deep_copy(now) : json_null());
    return json_array_append_new(list, entry) == 0;
}

/* ---- results ---- */

/* Returns the record as JSON, or NULL if memory is short. */
static json_t *object_of(const struct gnn_run_record *run)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gnn_err ignored = {0};
    FILE *const into = open_memstream(&text, &bytes);
    if (into == NULL)
        return NULL;
    const bool written = gnn_run_json(run, false, into, &ignored) == GNN_OK;
    const bool closed = fclose(into) == 0;
    json_t *const object = written && closed ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return object;
}

/* Adds all values of two objects or arrays that differ. The depth is that of a record. */
static bool add_all(json_t *list, const char *path, json_t *then, json_t *now)
{
    char below[PATH_BYTES];
    bool complete = true;
    if (json_equal(then, now))
        return true;
    if (json_is_object(then) && json_is_object(now)) {
        const char *key;
        json_t *value;
        json_object_foreach(then, key, value)
        {
            (void)snprintf(below, sizeof below, "%s%s%s", path, path[0] != '\0' ? "." : "", key);
            complete = complete && add_all(list, below, value, json_object_get(now, key));
        }
        json_object_foreach(now, key, value)
        {
            (void)snprintf(below, sizeof below, "%s%s%s", path, path[0] != '\0' ? "." : "", key);
            if (json_object_get(then, key) == NULL)
                complete = complete && add(list, below, NULL, value);
        }
        return complete;
    }
    if (!json_is_array(then) || !json_is_array(now))
        return add(list, path, then, now);
    const size_t count = json_array_size(then) > json_array_size(now) ? json_array_size(then) : json_array_size(now);
    for (size_t i = 0; i < count && complete; i++) {
        (void)snprintf(below, sizeof below, "%s[%zu]", path, i);
        complete = add_all(list, below, json_array_get(then, i), json_array_get(now, i));
    }
    return complete;
}

/* Leaves of the epochs only what does not depend on time. */
static bool keep_values(json_t *root)
{
    static const char *const kept[] = {"epoch",         "loss",      "train_accuracy", "valid_accuracy",
                                       "test_accuracy", "valid_mrr", "test_mrr"};
    static const char *const counted[] = {"batch_digest", "sampled_nodes", "sampled_edges"};
    json_t *const epochs = json_object_get(root, "epochs");
    for (size_t i = 0; i < json_array_size(epochs); i++) {
        json_t *const epoch = json_array_get(epochs, i), *const less = json_object();
        bool complete = less != NULL;
        for (size_t k = 0; k < sizeof kept / sizeof kept[0] && complete; k++)
            complete = json_object_set(less, kept[k], json_object_get(epoch, kept[k])) == 0;
        for (size_t k = 0; k < sizeof counted / sizeof counted[0] && complete; k++)
            complete =
                json_object_set(less, counted[k], json_object_get(json_object_get(epoch, "counters"), counted[k])) == 0;
        if (json_array_set_new(epochs, i, less) != 0 || !complete)
            return false;
    }
    return true;
}

/* Adds the difference between the values of one key, if there is one. */
static bool add_key(json_t *list, const char *key, json_t *then, json_t *now)
{
    return add_all(list, key, json_object_get(then, key), json_object_get(now, key));
}

static bool fill_results(json_t *list, json_t *then, json_t *now, bool exact)
{
    if (then == NULL || now == NULL || list == NULL)
        return false;
    if (!exact && (!keep_values(then) || !keep_values(now)))
        return false;
    bool complete = add_key(list, "status", then, now) && add_key(list, "epochs", then, now);
    if (exact)
        return complete && add_key(list, "before_first_epoch", then, now);
    return complete &&
           add_key(list, "model.hash", json_object_get(then, "environment"), json_object_get(now, "environment"));
}

json_t *gnn_rerun_results(const struct gnn_run_record *then, const struct gnn_run_record *now, bool exact)
{
    json_t *const list = json_array(), *const a = object_of(then), *const b = object_of(now);
    const bool complete = fill_results(list, a, b, exact);
    json_decref(a);
    json_decref(b);
    if (complete)
        return list;
    json_decref(list);
    return NULL;
}

/* ---- conditions ---- */

/* Returns whether a key of the environment describes the build, the machine, the dataset or the profile. */
static bool is_condition(const char *key)
{
    static const char *const keys[] = {"build.",    "lib.",           "host.name",      "kernel.release",
                                       "cpu.model", "cpu.online",     "cpu.governor",   "memory.total",
                                       "gpu.",      "dataset.digest", "profile.digest", "costs.digest",
                                       "device.",   "memory.inher",   "batch_digest.",  "plugin."};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (strncmp(key, keys[i], strlen(keys[i])) == 0)
            return true;
    return false;
}

json_t *gnn_rerun_conditions(const struct gnn_run_record *then, const struct gnn_run_record *now)
{
    json_t *const list = json_array();
    const struct gnn_kv_list *const sides[2] = {&then->environment, &now->environment};
    bool complete = list != NULL;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < sides[side]->count && complete; i++) {
            const char *const key = sides[side]->items[i].key;
            const char *const a = gnn_kv_get(sides[0], key), *const b = gnn_kv_get(sides[1], key);
            const bool same = a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
            if (!is_condition(key) || same || (side == 1 && a != NULL))
                continue;
            complete =
                json_array_append_new(list, json_pack("{s:s, s:s?, s:s?}", "what", key, "then", a, "now", b)) == 0;
        }
    if (complete)
        return list;
    json_decref(list);
    return NULL;
}
