/* SPDX-License-Identifier: MIT */
/* One run for people: what `oocgnn run` prints. */
#include "harness/base/plain_text.h"
#include "harness/record/notes.h"
#include "harness/record/report.h"
#include "harness/record/report_cells.h"
#include "harness/record/summary.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SUMMARY_COLUMNS = 100, SUMMARY_INDENT = 18 };

/* Prints a line of the block: what it is, then the text, broken at blanks. */
static void print_line(const char *name, const char *text, FILE *out)
{
    int column = fprintf(out, "  %-*s", SUMMARY_INDENT - 2, name);
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (column > SUMMARY_INDENT && column + 1 + length > SUMMARY_COLUMNS)
            column = fprintf(out, "\n%*s", SUMMARY_INDENT, "") - 1;
        column += fprintf(out, column > SUMMARY_INDENT ? " %.*s" : "%.*s", length, text);
        text += length + (text[length] == ' ' ? 1 : 0);
    }
    (void)fputc('\n', out);
}

/* Copies the reasons, one a line, into one line. */
static void join_reasons(const char *reasons, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = '\0';
    while (*reasons != '\0' && used + 1 < text_bytes) {
        const int length = (int)strcspn(reasons, "\n");
        const int written = snprintf(text + used, text_bytes - used, "%s%.*s", used > 0 ? "; " : "", length, reasons);
        used += (size_t)(written > 0 ? written : 0);
        reasons += length + (reasons[length] == '\n' ? 1 : 0);
    }
}

static void print_result(const struct gnn_run_record *run, FILE *out)
{
    char reasons[2 * GNN_RECORD_REASONS_MAX], text[sizeof reasons + 64];
    const bool ok = run->status == GNN_RUN_OK && !gnn_run_withholds_times(run);
    const char *const word = gnn_run_status_name(run->status == GNN_RUN_OK && !ok ? GNN_RUN_INVALID : run->status);
    join_reasons(run->reasons, reasons, sizeof reasons);
    (void)snprintf(text, sizeof text, "%s%s%s", word, ok ? "" : ": ", ok ? "" : or_dash(reasons));
    gnn_text_make_plain(text);
    (void)fprintf(out, "  %-*s%s\n", SUMMARY_INDENT - 2, "result", text); /* in one line, as a message is looked for */
}

/* Writes which epochs after the first count; "": none. */
static void name_counted(const struct gnn_run_record *run, char *text, size_t text_bytes)
{
    uint32_t first = 0, last = 0, count = 0;
    for (uint32_t e = 1; e < run->epoch_count; e++) {
        if (!gnn_run_counts_epoch(run, e))
            continue;
        first = count == 0 ? e : first;
        last = e;
        count++;
    }
    if (count == 0)
        text[0] = '\0';
    else if (count == 1)
        (void)snprintf(text, text_bytes, "epoch %u", first + 1);
    else if (count == last - first + 1)
        (void)snprintf(text, text_bytes, "median of epochs %u to %u", first + 1, last + 1);
    else
        (void)snprintf(text, text_bytes, "median of %u complete epochs", count);
}

/* Prints the estimate of an epoch that is not settled; the conditions give the reason. */
static void print_estimate(const struct gnn_run_record *run, FILE *out)
{
    char text[128], first[TEXT_BYTES];
    uint32_t e = 0;
    while (!gnn_epoch_is_unsettled(&run->epochs[e]))
        e++;
    (void)snprintf(text, sizeof text, "about %s s (epoch %u), " GNN_NOT_SETTLED,
                   time_text(gnn_recorded_figure(&run->epochs[e], GNN_FIGURE_FULL_EPOCH), first), e + 1);
    print_line("epoch time", text, out);
}

static void print_epochs(const struct gnn_run_record *run, FILE *out)
{
    char text[256], first[TEXT_BYTES], later[TEXT_BYTES], counted[64], part[GNN_PART_BYTES];
    if (run->epoch_count == 0 || gnn_run_withholds_times(run))
        return;
    if (gnn_run_is_unsettled(run)) {
        print_estimate(run, out);
        return;
    }
    const uint64_t later_ns = gnn_run_later_epoch_ns(run);
    size_t used = (size_t)snprintf(text, sizeof text, "first %s s", time_text(gnn_run_first_epoch_ns(run), first));
    name_counted(run, counted, sizeof counted);
    if (later_ns != GNN_UNKNOWN)
        (void)snprintf(text + used, sizeof text - used, ", later %s s (%s)", time_text(later_ns, later), counted);
    else if (run->epoch_count > 1 && counted[0] == '\0')
        (void)snprintf(text + used, sizeof text - used, "; no later epoch is complete: use --epochs 3 or more");
    if (gnn_run_part(run, part)[0] != '\0') {
        used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, ", %s%s", part[0] == 'f' ? "only the " : "", part);
    }
    print_line("epoch time", text, out);
}

/* Reads and writes, of the device and as requested: what is known. Requests and writes are left out if there were
 * none. */
static void say_io(const struct gnn_record_counters *c, char *text, size_t text_bytes)
{
    char bytes[TEXT_BYTES], count[TEXT_BYTES];
    if (c->device_read_bytes != GNN_UNKNOWN)
        gnn_text_list(text, text_bytes, "device reads %s in %s requests", bytes_text(c->device_read_bytes, bytes),
                      count_text(c->device_read_ios, count));
    if (c->device_write_bytes != GNN_UNKNOWN && c->device_write_bytes > 0)
        gnn_text_list(text, text_bytes, "device writes %s", bytes_text(c->device_write_bytes, bytes));
    if (c->requested_bytes != GNN_UNKNOWN && c->requested_bytes > 0)
        gnn_text_list(text, text_bytes, "requested %s in %s reads", bytes_text(c->requested_bytes, bytes),
                      count_text(c->requested_ios, count));
    if (c->requested_write_bytes != GNN_UNKNOWN && c->requested_write_bytes > 0)
        gnn_text_list(text, text_bytes, "requested %s in %s writes", bytes_text(c->requested_write_bytes, bytes),
                      count_text(c->requested_write_ios, count));
}

static void print_io(const struct gnn_run_record *run, FILE *out)
{
    char text[512] = "", time[TEXT_BYTES];
    if (run->before.elapsed_ns != GNN_UNKNOWN && !gnn_run_withholds_times(run)) {
        gnn_text_list(text, sizeof text, "%s s", time_text(run->before.elapsed_ns, time));
        gnn_text_list(text, sizeof text, "CPU time %s s", time_text(run->before.cpu_ns, time));
    }
    say_io(&run->before, text, sizeof text);
    if (text[0] != '\0')
        print_line("before epoch 1", text, out);
    text[0] = '\0';
    say_io(&run->counters, text, sizeof text);
    if (text[0] != '\0')
        print_line("all epochs", text, out);
}

static void print_memory(const struct gnn_run_record *run, FILE *out)
{
    const uint64_t inherited_bytes = gnn_run_inherited_bytes(run);
    const bool whole_machine = gnn_run_cap_not_enforced(run) && inherited_bytes == GNN_UNKNOWN;
    char text[256], peak[TEXT_BYTES], cap[TEXT_BYTES];
    if (run->counters.peak_memory_bytes == GNN_UNKNOWN && run->cap_bytes == GNN_UNKNOWN)
        return;
    size_t used = (size_t)snprintf(text, sizeof text, "peak %s", bytes_text(run->counters.peak_memory_bytes, peak));
    if (run->cap_bytes != GNN_UNKNOWN)
        used += (size_t)snprintf(text + used, sizeof text - used, ", limit %s (%s)%s", bytes_text(run->cap_bytes, cap),
                                 or_dash(run->cap_enforcement),
                                 whole_machine ? ", not enforced: the page cache had the whole machine" : "");
    if (inherited_bytes != GNN_UNKNOWN)
        (void)snprintf(text + used, sizeof text - used, ", limit %s (inherited from the container or control group)",
                       bytes_text(inherited_bytes, cap));
    else if (run->cap_bytes == GNN_UNKNOWN)
        (void)snprintf(text + used, sizeof text - used, ", no limit");
    print_line("memory", text, out);
}

/* Returns a note on the number of test nodes if it is so small that the accuracy is mostly chance, or "". */
static const char *few_test_nodes(const struct gnn_run_record *run, char text[TEXT_BYTES])
{
    enum { ENOUGH = 1000 }; /* the standard error of a share is at most 1.6 % from here on */
    const char *const nodes = gnn_kv_get(&run->environment, "dataset.test");
    text[0] = '\0';
    if (nodes != NULL && strtoul(nodes, NULL, 10) < ENOUGH)
        (void)snprintf(text, TEXT_BYTES, " (only %.12s test nodes)", nodes);
    return text;
}

static void print_learned(const struct gnn_run_record *run, FILE *out)
{
    char text[256], few[TEXT_BYTES];
    const double loss = run->epoch_count > 0 ? run->epochs[run->epoch_count - 1].loss : (double)NAN;
    const double mrr = gnn_run_test_mrr(run), accuracy = gnn_run_test_accuracy(run);
    const double own_first = gnn_run_test_own_first(run), auc = gnn_run_test_roc_auc(run);
    text[0] = '\0';
    if (isfinite(loss))
        gnn_text_list(text, sizeof text, "loss %.4f", loss);
    if (isfinite(mrr))
        gnn_text_list(text, sizeof text, "test MRR %.4f", mrr);
    else if (isfinite(accuracy))
        gnn_text_list(text, sizeof text, "test accuracy %.2f %%%s", 100.0 * accuracy, few_test_nodes(run, few));
    if (isfinite(own_first))
        gnn_text_list(text, sizeof text, "own end first in %.1f %% of the queries", 100.0 * own_first);
    if (isfinite(auc))
        gnn_text_list(text, sizeof text, "ROC AUC %.4f", auc);
    if (text[0] != '\0')
        print_line("training", text, out);
}

static void print_shares(const struct gnn_run_record *run, FILE *out)
{
    char text[128], pct[TEXT_BYTES];
    const double wait_pct = gnn_run_io_wait_pct(run), cpu_pct = gnn_run_cpu_pct(run);
    text[0] = '\0';
    if (gnn_run_withholds_times(run))
        return;
    if (isfinite(wait_pct))
        gnn_text_list(text, sizeof text, "I/O wait %s %% of the workers' time", pct_text(wait_pct, "1", pct));
    if (isfinite(cpu_pct))
        gnn_text_list(text, sizeof text, "CPU %s %%", pct_text(cpu_pct, "1", pct));
    if (text[0] != '\0')
        print_line("time", text, out);
}

static void print_note(const struct gnn_run_record *run, FILE *out)
{
    char text[128], when[32];
    const char *const shared = gnn_run_shared_dataset(run);
    if (shared == NULL)
        return;
    (void)snprintf(text, sizeof text, "another run used the same dataset at the %s of this run",
                   gnn_text_plain(shared, when, sizeof when));
    print_line("note", text, out);
}

static void print_machine(const struct gnn_run_record *run, FILE *out)
{
    char state[GNN_NOTES_BYTES], notes[GNN_NOTES_BYTES], text[sizeof state + 32];
    struct gnn_trust trust;
    if (!gnn_trust_state(run, state, sizeof state))
        return;
    gnn_trust_init(&trust);
    gnn_trust_add(&trust, run);
    (void)snprintf(text, sizeof text, "%s%s", state,
                   gnn_trust_text(&trust, notes, sizeof notes) ? ": the times may not repeat" : "");
    print_line("machine", text, out);
}

void gnn_report_run(const struct gnn_run_record *run, FILE *out)
{
    char caption[GNN_CAPTION_BYTES], name[2 * GNN_NAME_MAX];
    (void)snprintf(name, sizeof name, "%s%s%s", or_dash(run->system), run->variant[0] == '\0' ? "" : " ", run->variant);
    gnn_text_make_plain(name);
    (void)fprintf(out, "run %" PRId64 ": %s\n", run->run_id, name);
    print_result(run, out);
    print_epochs(run, out);
    print_shares(run, out);
    print_machine(run, out);
    print_io(run, out);
    print_memory(run, out);
    print_learned(run, out);
    gnn_run_caption(run, caption, sizeof caption);
    gnn_text_make_plain(caption);
    print_line("conditions", caption, out);
    print_note(run, out);
    gnn_report_stages(run, 1, GNN_REPORT_TEXT, out);
}
