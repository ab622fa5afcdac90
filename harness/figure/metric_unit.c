/* SPDX-License-Identifier: MIT */
/* Units at the ends of metrics' names, and names in words. */
#include "harness/figure/metric.h"

#include <ctype.h>
#include <string.h>

const struct gnn_metric_unit *gnn_metric_unit(const char *name)
{
    static const struct gnn_metric_unit units[] = {
        {"_s", "s", 1, true},
        {"_min", "min", 1, true},
        {"_ns", "s", 1e-9, true},
        {"_us", "us", 1, false},
        {"_gib", "GiB", 1, true},
        {"_bytes", "GiB", 1.0 / (1 << 30), true},
        {"_mib", "MiB", 1, false},
        {"_kib", "KiB", 1, false},
        {"_pct", "%", 1, false},
        {"_gbps", "GB/s", 1, false},
        {"_mbps", "MB/s", 1, false},
        {"_permille", "", 1e-3, false},
        {"_millionths", "", 1e-6, false},
    };
    static const struct gnn_metric_unit none = {"", "", 1, false};
    const size_t length = strcspn(name, "@"); /* an epoch follows */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t part = strlen(units[i].end);
        if (length > part && strncmp(name + length - part, units[i].end, part) == 0)
            return &units[i];
    }
    return &none;
}

/* Returns whether the name is that of a quantile: the time of one request is the same at every scale. */
static bool is_quantile(const char *name)
{
    for (const char *at = name; (at = strstr(at, "_p")) != NULL; at += 2)
        if (isdigit((unsigned char)at[2]))
            return true;
    return false;
}

bool gnn_metric_shrinks(const char *name)
{
    static const char *const counts[] = {"reads", "asks", "nodes", "edges"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const size_t part = strlen(counts[i]);
        if (strncmp(name, counts[i], part) == 0 && (name[part] == '\0' || strchr(".@", name[part]) != NULL))
            return true;
    }
    return gnn_metric_unit(name)->shrinks && !is_quantile(name);
}

const char *gnn_metric_label(const char *name, char text[GNN_METRIC_LABEL])
{
    static const char *const families[] = {"own.", "counter.", "option."}; /* say nothing to a reader */
    char base[GNN_NAME_MAX], of[40] = "";
    int32_t epoch;
    const struct gnn_metric_unit *const unit = gnn_metric_unit(name);
    (void)gnn_metric_split(name, base, &epoch);
    const char *words = gnn_metric_words(base);
    if (words == NULL) {
        base[strlen(base) - strlen(unit->end)] = '\0';
        words = base;
        for (size_t i = 0; i < sizeof families / sizeof *families; i++)
            words += strncmp(words, families[i], strlen(families[i])) == 0 ? strlen(families[i]) : 0;
        for (char *c = base; *c != '\0'; c++)
            *c = strchr("_.", *c) != NULL ? ' ' : *c;
    }
    if (epoch != GNN_EPOCHS_COUNTED)
        (void)snprintf(of, sizeof of, epoch == GNN_EPOCH_LAST ? ", last epoch" : ", epoch %d", epoch);
    (void)snprintf(text, GNN_METRIC_LABEL, unit->shown[0] != '\0' ? "%s%s (%s)" : "%s%s", words, of, unit->shown);
    return text;
}

void gnn_metrics_print(FILE *out)
{
    static const struct {
        const char *form;
        bool of_epoch;
        const char *words;
    } forms[] = {
        {"reads.SIZE", true,
         "device reads of a size class per epoch: reads.4K has those up to 4K and above 2K. Classes are "
         "512 (all up to it) and powers of two up to 4G. Simulated runs only"},
        {"asks.SIZE", true, "explicit reads of a size class per epoch"},
        {"accuracy_pct.N", false, "test accuracy after epoch N, from 1 (%)"},
        {"stage.NAME.FIELD", true,
         "work_s, wait_io_s, wait_queue_s, wall_s, cpu_s or workers of a stage, summed over its "
         "workers; with * as NAME, summed over all stages"},
        {"counter.NAME", true, "counter of an epoch, by its name in results/schema.sql"},
        {"own.NAME", true, "statistic of the system in the last epoch that counts"},
        {"first.NAME", false, "statistic of the system in the first epoch"},
        {"option.NAME", false, "option of the run, or parameter of its system: option.SYSTEM.NAME"},
        {"env.KEY", false, "number in the environment of the record, such as env.cpu.online"},
        {"profile.KEY", false, "parameter of the profile, such as profile.storage.read_iops"},
        {GNN_METRIC_TARGET_S, false, "time until the target accuracy of a figure (s)"},
        {GNN_METRIC_TARGET_EPOCHS, false, "epochs until the target accuracy of a figure"},
    };
    char label[GNN_METRIC_LABEL], of_epoch[GNN_NAME_MAX + 4];
    for (uint32_t i = 0; gnn_metric_name(i) != NULL; i++) {
        const char *const name = gnn_metric_name(i);
        (void)snprintf(of_epoch, sizeof of_epoch, "%s@0", name);
        (void)fprintf(out, "%-20s %s  %s\n", name, gnn_metric_known(of_epoch) ? "@N" : "  ",
                      gnn_metric_label(name, label));
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        (void)fprintf(out, "%-20s %s  %s\n", forms[i].form, forms[i].of_epoch ? "@N" : "  ", forms[i].words);
}
