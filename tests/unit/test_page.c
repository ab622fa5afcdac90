/* SPDX-License-Identifier: MIT */
/* The page: whole by itself, sound HTML, its data as the record has them; and the CSV. */
#include "harness/base/text_file.h"
#include "harness/record/csv.h"
#include "harness/record/page.h"
#include "harness/record/summary.h"
#include "tests/support/browser.h"
#include "tests/support/fake_run.h"
#include "tests/support/must.h"
#include "tests/support/process.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static void give_series(struct gnn_run_record *run, uint32_t points)
{
    struct gnn_err err = {0};
    for (uint32_t i = 0; i < points; i++) {
        struct gnn_series_point point;
        memset(&point, 0xff, sizeof point); /* all NAN and unknown */
        point.time_ns = (i + 1) * UINT64_C(250000000);
        point.interval_ns = 250000000;
        point.cpu_pct = i % 2 == 0 ? 40 : 60;
        point.memory_bytes = 1000 + i;
        must(gnn_run_record_add_point(run, &point, &err), &err);
    }
}

/* Two systems of a registry. */
static uint32_t place_of(const char *system)
{
    return strcmp(system, "gnndrive") == 0 ? 3 : strcmp(system, "ginex") == 0 ? 1 : GNN_STYLE_NONE;
}

static char *page_of(const struct gnn_run_record *runs, uint32_t count, const char *figures)
{
    char *text = NULL;
    size_t bytes = 0;
    struct gnn_err err = {0};
    FILE *const out = open_memstream(&text, &bytes);
    must(gnn_page_write(runs, count, "0123456789ab", place_of, figures, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(strlen(text), bytes);
    return text;
}

/* ---- a plain reader of HTML ---- */

enum { DEPTH_MAX = 64, TAG_BYTES = 32 };

static bool is_void(const char *tag)
{
    static const char *const words[] = {"meta", "link", "img", "input", "br", "!doctype"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(tag, words[i]) == 0)
            return true;
    return false;
}

/* Fails unless every element that is opened is closed, in order; what stands in script and style is no markup. */
static void check_elements(const char *page)
{
    char open[DEPTH_MAX][TAG_BYTES];
    int depth = 0;
    for (const char *at = strchr(page, '<'); at != NULL; at = strchr(at, '<')) {
        char tag[TAG_BYTES] = "";
        const bool closes = at[1] == '/';
        at += closes ? 2 : 1;
        for (size_t i = 0; i + 1 < sizeof tag && (isalnum((unsigned char)*at) || *at == '!'); i++)
            tag[i] = (char)tolower((unsigned char)*at++);
        for (char quote = '\0'; *at != '\0' && (quote != '\0' || *at != '>'); at++)
            if (quote == '\0' ? *at == '"' : *at == quote)
                quote = quote == '\0' ? '"' : '\0';
        assert_int_equal(*at, '>');
        if (is_void(tag))
            continue;
        if (closes) {
            if (depth == 0 || strcmp(open[depth - 1], tag) != 0)
                fail_msg("</%s> closes <%s>", tag, depth == 0 ? "nothing" : open[depth - 1]);
            depth--;
            continue;
        }
        assert_true(depth < DEPTH_MAX);
        memcpy(open[depth++], tag, sizeof tag);
        if (strcmp(tag, "script") == 0 || strcmp(tag, "style") == 0) {
            char end[TAG_BYTES + 4];
            (void)snprintf(end, sizeof end, "</%s>", tag);
            at = strstr(at, end);
            assert_non_null(at);
        }
    }
    assert_int_equal(depth, 0);
}

static json_t *data_of(const char *page)
{
    static const char begin[] = "<script type=\"application/json\" id=\"data\">";
    const char *const from = strstr(page, begin);
    assert_non_null(from);
    const char *const text = from + strlen(begin), *const end = strstr(text, "</script>");
    assert_non_null(end);
    assert_null(memchr(text, '<', (size_t)(end - text)));
    json_error_t trouble;
    json_t *const data = json_loadb(text, (size_t)(end - text), 0, &trouble);
    if (data == NULL)
        fail_msg("the page's data: %s", trouble.text);
    return data;
}

/* ---- the page ---- */

static void a_page_is_whole_by_itself(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    fake_run(&runs[0], "pygplus", 60, 1, 1);
    fake_run(&runs[1], "gnndrive", 10, 3, 1);
    runs[0].run_id = 41;
    runs[1].run_id = 42;
    give_series(&runs[1], 10);
    char *const page = page_of(runs, 2, "");
    check_elements(page);
    assert_null(strstr(page, "http:"));
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, "src=\"/"));
    assert_null(strstr(page, "@import"));
    must_show(page, "<meta name=\"viewport\"");
    must_show(page, "prefers-color-scheme: dark");
    must_show(page, "@media print");
    must_show(page, "beforeprint");
    must_show(page, "!known(all[k - 1]) && !known(all[k + 1])"); /* a single sample is drawn as a point */
    must_show(page, "<circle");
    must_show(page,
              "<tr data-run=\"42\"><td class=\"n\">42</td><td>gnndrive</td><td>papers100m sage</td><td>measured</td>"
              "<td>ok</td><td class=\"n\">11.5</td><td class=\"n\">10</td>");
    must_show(page, "<td>ok</td><td class=\"n\">69</td><td class=\"n\">-</td>");   /* one epoch is the first */
    must_show(page, "<td class=\"n\">35.0 MiB</td><td class=\"n\">53.9 GiB</td>"); /* read before, and in the epochs */
    must_show(page, "disk read before</th><th class=\"n\">disk read, epochs</th>");
    json_t *const data = data_of(page);
    const json_t *const array = json_object_get(data, "runs");
    assert_int_equal(json_array_size(array), 2);
    const json_t *const run = json_array_get(array, 1);
    assert_int_equal(json_integer_value(json_object_get(run, "id")), 42);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(run, "derived"), "epoch_ns")), 10000000000);
    assert_int_equal(json_array_size(json_object_get(json_object_get(run, "epochs"), "wall_ns")), 3);
    assert_int_equal(json_array_size(json_object_get(json_object_get(run, "figures"), "wait_list_rows")), 3);
    assert_int_equal(json_array_size(json_object_get(run, "stages")), 4);
    const json_t *const series = json_object_get(run, "series");
    assert_int_equal(json_array_size(json_object_get(series, "cpu_pct")), 10);
    assert_null(json_object_get(series, "gpu_busy_pct")); /* nobody knows it */
    json_decref(data);
    free(page);
    gnn_run_record_free(&runs[0]);
    gnn_run_record_free(&runs[1]);
}

/* A system has one colour in the page and in pictures; a run of none has no place. */
static void colours_are_those_of_the_pictures(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    fake_run(&runs[0], "gnndrive", 10, 1, 1);
    fake_run(&runs[1], "another", 10, 1, 1);
    char *const page = page_of(runs, 2, ""), script[4096];
    assert_int_equal(gnn_text_file_read("plots/figure_series.gp", script, sizeof script), 0);
    const char *at = strstr(script, "array style_colour[16] = [");
    uint32_t count = 0;
    for (; at != NULL && (at = strstr(at, "0x")) != NULL && count < 16; at += 8, count++) {
        char colour[16];
        (void)snprintf(colour, sizeof colour, "\"#%.6s\"", at + 2);
        must_show(page, colour);
    }
    assert_int_equal(count, 16);
    must_show(page, "\"label\":\"gnndrive\",\"place\":3,");
    must_show(page, "\"label\":\"another\",\"place\":null,");
    free(page);
    for (int i = 0; i < 2; i++)
        gnn_run_record_free(&runs[i]);
}

/* 4000 points become 400 means of ten. */
static void long_series_are_thinned(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 1, 1);
    give_series(&run, 4000);
    char *const page = page_of(&run, 1, "");
    json_t *const data = data_of(page);
    const json_t *const series = json_object_get(json_array_get(json_object_get(data, "runs"), 0), "series");
    const json_t *const cpu = json_object_get(series, "cpu_pct"), *const time = json_object_get(series, "time_ns");
    assert_int_equal(json_array_size(cpu), 400);
    assert_float_equal(json_number_value(json_array_get(cpu, 7)), 50, 1e-9);
    assert_float_equal(json_number_value(json_array_get(json_object_get(series, "memory_bytes"), 0)), 1004.5, 1e-9);
    assert_int_equal(json_integer_value(json_array_get(time, 0)), 2500000000);
    json_decref(data);
    free(page);
    gnn_run_record_free(&run);
}

static void an_invalid_run_has_no_times(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 2, 1);
    run.status = GNN_RUN_INVALID;
    run.valid = 0;
    give_series(&run, 3);
    char *const page = page_of(&run, 1, "");
    must_show(page, "<td class=\"bad\">invalid</td><td class=\"n\">-</td>");
    assert_null(strstr(page, "11500000000"));
    assert_null(strstr(page, "10000000000"));
    free(page);
    gnn_run_record_free(&run);
}

/* In the list that needs no script, and in the data from which the script names it in the summary and wherever it names
 * a run. */
static void a_part_of_an_epoch_is_named(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    struct gnn_err err = {0};
    for (int i = 0; i < 2; i++)
        fake_run(&runs[i], "gnndrive", 10, 2, 1);
    must(gnn_kv_set(&runs[1].config, "max-batches", "3", &err), &err);
    must(gnn_kv_set(&runs[1].environment, GNN_ENVIRONMENT_WHOLE_BATCHES, "31", &err), &err);
    char *const page = page_of(runs, 2, "");
    must_show(page, "<td>gnndrive (first 3 of 31 mini-batches)</td>");
    must_show(page, "<td>gnndrive</td>");
    must_show(page, "${run.id}: ${run.label}${partOf(run)}");
    must_show(page, "text(group[0].label + partOf(group[0]))");
    json_t *const data = data_of(page);
    static const char *const parts[] = {"", "first 3 of 31 mini-batches"};
    for (size_t i = 0; i < 2; i++) {
        const json_t *const run = json_array_get(json_object_get(data, "runs"), i);
        assert_string_equal(json_string_value(json_object_get(json_object_get(run, "derived"), "part")), parts[i]);
        assert_int_equal(
            strstr(json_string_value(json_object_get(run, "caption")), "only the first 3 of 31 mini-batches") != NULL,
            i == 1);
        gnn_run_record_free(&runs[i]);
    }
    json_decref(data);
    free(page);
}

/* Whole partitions may hold more rows than were requested: no share of hits.
 * On paper a heading is not cut inside a word. */
static void a_ratio_below_zero_is_no_share(void **state)
{
    (void)state;
    struct gnn_run_record run;
    fake_run(&run, "mariusgnn", 10, 2, 1);
    run.counters.rows_asked = 1000;
    run.counters.rows_read = 2468;
    char *const page = page_of(&run, 1, "");
    assert_null(strstr(page, ">-1.4"));
    must_show(page, "if (name === \"hit_ratio\" && value < 0) return \"-\";");
    must_show(page, "th { overflow-wrap: normal; }");
    free(page);
    gnn_run_record_free(&run);
}

/* Options and machine that every run has alike stand in the page once; what one lacks or has otherwise, in each. */
static void what_is_alike_is_told_once(void **state)
{
    (void)state;
    struct gnn_run_record runs[3];
    struct gnn_err err = {0};
    static const char *const memory[] = {"8M", "8M", "16M"};
    for (int i = 0; i < 3; i++) {
        fake_run(&runs[i], "gnndrive", 10, 1, 1);
        must(gnn_kv_set(&runs[i].config, "hidden", "256", &err), &err);
        must(gnn_kv_set(&runs[i].config, "memory", memory[i], &err), &err);
        must(gnn_kv_set(&runs[i].environment, "kernel.name", "Linux", &err), &err);
        if (i < 2)
            must(gnn_kv_set(&runs[i].environment, "disk.model", "virtual", &err), &err);
    }
    char *const page = page_of(runs, 3, "");
    json_t *const data = data_of(page);
    const json_t *const config = json_object_get(json_object_get(data, "common"), "config");
    const json_t *const environment = json_object_get(json_object_get(data, "common"), "environment");
    assert_string_equal(json_string_value(json_object_get(config, "hidden")), "256");
    assert_null(json_object_get(config, "memory"));
    assert_string_equal(json_string_value(json_object_get(environment, "kernel.name")), "Linux");
    assert_null(json_object_get(environment, "disk.model"));
    for (size_t i = 0; i < 3; i++) {
        const json_t *const run = json_array_get(json_object_get(data, "runs"), i);
        assert_null(json_object_get(json_object_get(run, "config"), "hidden"));
        assert_string_equal(json_string_value(json_object_get(json_object_get(run, "config"), "memory")), memory[i]);
        assert_null(json_object_get(json_object_get(run, "environment"), "kernel.name"));
        assert_int_equal(json_object_get(json_object_get(run, "environment"), "disk.model") != NULL, i < 2);
        gnn_run_record_free(&runs[i]);
    }
    json_decref(data);
    free(page);
}

/* Names come from files that others wrote. */
static void names_are_text(void **state)
{
    (void)state;
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, "gnndrive", 10, 1, 1);
    (void)snprintf(run.dataset, sizeof run.dataset, "</script><script>alert(1)//");
    (void)snprintf(run.tag, sizeof run.tag, "\xff\"'&");
    must(gnn_kv_set(&run.config, "</script>", "<!--", &err), &err);
    char *const page = page_of(&run, 1, "");
    check_elements(page);
    must_show(page, "<td>&lt;/script&gt;&lt;script&gt;alert(1)// sage</td>");
    json_t *const data = data_of(page);
    const json_t *const kept = json_object_get(json_array_get(json_object_get(data, "runs"), 0), "run");
    assert_string_equal(json_string_value(json_object_get(kept, "dataset")), "</script><script>alert(1)//");
    json_decref(data);
    free(page);
    gnn_run_record_free(&run);
}

/* ---- figures ---- */

static void pictures_are_inside(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    struct gnn_run_record run;
    fake_run(&run, "gnndrive", 10, 1, 1);
    process_write_file(dir, "fig-8.svg", 0644, "%s", "<svg/>");
    process_write_file(dir, "fig-8.png", 0644, "%s", "png");
    process_write_file(dir, "fig-8.csv", 0644, "%s", "x,\"y, and \"\"z\"\"\"\r\n1,<2>\n");
    process_write_file(dir, "fig-8.txt", 0644, "%s", "caption & more");
    process_write_file(dir, "table-2.csv", 0644, "%s", "a\n1\n");
    process_write_file(dir, "fig-8.gp", 0644, "%s", "plot");
    process_write_file(dir,
                       "fig-9"
                       ".md",
                       0644, "%s", "not available:\nnobody has it");
    char *const page = page_of(&run, 1, dir);
    check_elements(page);
    must_show(page, "<nav><a href=\"#figure-fig-8\">fig-8</a> <a href=\"#figure-fig-9\">fig-9</a> "
                    "<a href=\"#figure-table-2\">table-2</a> </nav>");
    must_show(page, "<figure id=\"figure-fig-8\">");
    must_show(page, "src=\"data:image/svg+xml;base64,PHN2Zy8+\"");
    assert_null(strstr(page, "image/png"));
    must_show(page, "<pre class=\"caption\">caption &amp; more</pre>");
    must_show(page, "download=\"fig-8.csv\" href=\"data:text/csv;base64,eCwieSwgYW5kICIieiIiIg0KMSw8Mj4K\"");
    must_show(page, "<tr><th>x</th><th>y, and &quot;z&quot;</th></tr>\n<tr><td>1</td><td>&lt;2&gt;</td></tr>");
    must_show(page, "<figure id=\"figure-table-2\">");
    must_show(page,
              "<h3>fig-9</h3></figcaption>\n<pre class=\"caption\">not available:\nnobody has it</pre>\n</figure>");
    free(page);
    process_remove_tree(dir);
    struct gnn_err err = {0};
    FILE *const out = tmpfile();
    assert_int_equal(gnn_page_write(&run, 1, "r", place_of, dir, out, &err), GNN_ENOENT);
    assert_non_null(strstr(err.message, "--figures"));
    (void)fclose(out);
    free(dir);
    gnn_run_record_free(&run);
}

/* What a person does with the page, and in the document's attributes what it then shows. */
static const char hands[] =
    "<script>\n"
    "const $ = id => document.getElementById(id);\n"
    "const say = (name, value) => { document.documentElement.dataset[name] = value; };\n"
    "const put = (element, value) => {\n"
    "  if (element.type === 'checkbox') element.checked = value; else element.value = value;\n"
    "  element.dispatchEvent(new Event('input', {bubbles: true}));\n"
    "};\n"
    "const listed = () => [...document.querySelectorAll('#runs tr[data-run]')].filter(row => row.offsetHeight > 0)"
    ".map(row => row.dataset.run).join(' ') + ', ' + $('count').textContent;\n"
    "const system = document.querySelector('select[name=system]');\n"
    "put(system, 'gnndrive'); say('system', listed());\n"
    "put($('search'), 'no such run'); say('none', listed());\n"
    "put(system, ''); put($('search'), 'pygPLUS scale'); say('search', listed());\n"
    "put($('search'), ''); say('all', listed());\n"
    "document.querySelector('#runs tr[data-run=\"41\"] td').click();\n"
    "say('clicked', $('one').value + ', ' + $('series').textContent);\n"
    "put($('one'), '42'); put($('column'), 'memory_bytes');\n"
    "const lines = () => [...document.querySelectorAll('#series path')].map(path => "
    "path.getAttribute('d').split(/[ML]/)"
    ".length - 1).join(' ');\n"
    "say('series', lines());\n"
    "const svg = document.querySelector('#series svg'), box = svg.getBoundingClientRect();\n"
    "svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + box.width / 2, clientY: box.top + 50}));\n"
    "say('cursor', $('cursor').getAttribute('visibility') + ', ' + document.querySelector('#series "
    ".at').textContent);\n"
    "put($('second'), '43'); put($('with-b'), true); say('beside', lines());\n"
    "say('colours', [...document.querySelectorAll('#series path')].map(path => path.getAttribute('stroke') + "
    "path.getAttribute('stroke-dasharray')).join(' '));\n"
    "put($('first'), '41'); put($('second'), '42');\n"
    "say('difference', [...document.querySelectorAll('#difference tr')].map(row => row.textContent)"
    ".find(line => line.startsWith('resultepoch_ns')));\n"
    "put($('first'), '42'); say('same', $('difference').textContent);\n"
    "</script>\n";

/* Filters, search, a click, the time series of one and of two runs, its cursor, the difference of two runs. */
static void a_browser_follows_the_hands(void **state)
{
    (void)state;
    static const char *const shown[] = {
        "data-system=\"43 42, 2 of 3 runs\"",
        "data-none=\", 0 of 3 runs\"",
        "data-search=\"41, 1 of 3 runs\"",
        "data-all=\"43 42 41, 3 of 3 runs\"",
        "data-clicked=\"41, This run has no time series: it was shorter than an interval.\"",
        "data-series=\"10\"",
        "data-cursor=\"visible, 1004 B at 1.25 s\"",
        "data-beside=\"10 6\"",
        "data-colours=\"color-mix(in srgb, #009E73 var(--own), var(--text))null "
        "color-mix(in srgb, #009E73 var(--own), var(--text))6 4\"",
        "data-difference=\"resultepoch_ns69 s12 s-83 %\"",
        "<summary>Counters, sum over the epochs</summary>",
        "<summary>Counters before the first epoch</summary>",
        "<td>device_write_bytes</td><td class=\"n\">3 MiB</td>",
        "<td>later epochs</td><td class=\"n\">10 s</td><td class=\"n\">12 s</td><td class=\"n\">14 s</td>",
        "data-same=\"Choose two runs.\"",
        ("<td>read</td><td class=\"n\">-</td><td class=\"n\">100 us</td><td class=\"n\">-"
         "</td><td class=\"n\">-</td><td class=\"n\">-</td><td class=\"n\">2.5 ms</td>")};
    static const struct {
        const char *system;
        double slow;
        uint32_t epochs, points;
    } made[] = {{"pygplus", 60, 1, 0}, {"gnndrive", 10, 3, 10}, {"gnndrive", 11, 3, 6}};
    struct gnn_run_record runs[3];
    browser_need();
    for (int i = 0; i < 3; i++) {
        fake_run(&runs[i], made[i].system, made[i].slow, made[i].epochs, 1);
        runs[i].run_id = 41 + i;
        give_series(&runs[i], made[i].points);
    }
    runs[1].epochs[2].wall_ns = UINT64_C(14000000000);
    fake_figure(&runs[1].epochs[2], "read_p50_ns", 100000);
    fake_figure(&runs[1].epochs[2], "read_max_ns", 2500000);
    char *const page = page_of(runs, 3, ""), *const dir = process_temp_dir();
    process_write_file(dir, "page.html", 0644, "%s%s", page, hands);
    struct process_result r = browser_load(dir, "page.html");
    process_remove_tree(dir);
    assert_string_equal(r.err, "");
    assert_null(strstr(r.out, "data-error"));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (strstr(r.out, shown[i]) == NULL)
            fail_msg("%s is missing in %.1500s", shown[i], r.out);
    process_free(&r);
    free(page);
    free(dir);
    for (int i = 0; i < 3; i++)
        gnn_run_record_free(&runs[i]);
}

static void a_page_that_is_too_large_is_refused(void **state)
{
    (void)state;
    char *const dir = process_temp_dir();
    char path[700];
    struct gnn_run_record run;
    struct gnn_err err = {0};
    fake_run(&run, "gnndrive", 10, 1, 1);
    (void)snprintf(path, sizeof path, "%s/large.png", dir);
    FILE *const picture = fopen(path, "w"), *const out = tmpfile();
    assert_non_null(picture);
    for (int i = 0; i < 16 << 20; i++) /* 21 MiB in base 64 */
        (void)fputc('x', picture);
    assert_int_equal(fclose(picture), 0);
    assert_int_equal(gnn_page_write(&run, 1, "r", place_of, dir, out, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "at most 20"));
    (void)fclose(out);
    process_remove_tree(dir);
    free(dir);
    gnn_run_record_free(&run);
}

/* As a machine and a workload would: most is alike. */
static void give_pairs(struct gnn_run_record *run)
{
    struct gnn_err err = {0};
    char key[32], value[32];
    for (uint32_t i = 0; i < 80; i++) {
        (void)snprintf(key, sizeof key, "option.number_%u", i);
        (void)snprintf(value, sizeof value, "%s %u", i < 70 ? "as ever" : "of its own",
                       i < 70 ? 7 : (unsigned)run->run_id);
        must(gnn_kv_set(i % 2 == 0 ? &run->config : &run->environment, key, value, &err), &err);
    }
}

/* So many runs with so many epochs and points each. */
static void check_many(uint32_t count, uint32_t epochs, uint32_t points)
{
    struct gnn_run_record *const runs = calloc(count, sizeof *runs);
    assert_non_null(runs);
    for (uint32_t i = 0; i < count; i++) {
        fake_run(&runs[i], i % 2 == 0 ? "gnndrive" : "ginex", 10, epochs, i);
        runs[i].run_id = i + 1;
        give_pairs(&runs[i]);
        give_series(&runs[i], points);
    }
    char *const page = page_of(runs, count, "");
    assert_true(strlen(page) < (UINT64_C(15) << 20)); /* the rest is for figures */
    free(page);
    gnn_run_records_free(runs, count);
}

/* Long measured runs, and the cells of all papers' figures. */
static void many_runs_fit(void **state)
{
    (void)state;
    check_many(256, 10, 500);
    check_many(1500, 2, 0);
}

/* ---- CSV ---- */

static void percentiles_by_hand(void **state)
{
    (void)state;
    const double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assert_float_equal(gnn_percentile(values, 10, 50), 5, 0);
    assert_float_equal(gnn_percentile(values, 10, 70), 7, 0);
    assert_float_equal(gnn_percentile(values, 10, 90), 9, 0);
    assert_float_equal(gnn_percentile(values, 10, 91), 10, 0);
    assert_float_equal(gnn_percentile(values, 10, 0.1), 1, 0);
    assert_float_equal(gnn_percentile(values, 1, 99.9), 1, 0);
    assert_true(isnan(gnn_percentile(values, 0, 50)));
}

/* Field `column` of the line, by its name in the header. */
static char *field(const char *csv, uint32_t row, const char *name)
{
    char *const copy = strdup(csv);
    char *rest = copy, *header = strsep(&rest, "\n"), *line = NULL, *word;
    uint32_t column = 0, at = 0;
    for (word = strsep(&header, ",\r"); word != NULL && strcmp(word, name) != 0; word = strsep(&header, ",\r"))
        column++;
    if (word == NULL)
        fail_msg("no column %s", name);
    for (uint32_t r = 0; r <= row; r++)
        line = strsep(&rest, "\n");
    for (word = strsep(&line, ",\r"); word != NULL && at < column; word = strsep(&line, ",\r"))
        at++;
    char *const value = strdup(word == NULL ? "" : word);
    free(copy);
    return value;
}

static void assert_field(const char *csv, uint32_t row, const char *name, const char *wanted)
{
    char *const got = field(csv, row, name);
    if (strcmp(got, wanted) != 0)
        fail_msg("%s of row %u is \"%s\", expected \"%s\"", name, row, got, wanted);
    free(got);
}

static void csv_has_a_row_a_run(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    struct gnn_err err = {0};
    char *text = NULL;
    size_t bytes = 0;
    fake_run(&runs[0], "ringsampler", 10, 4, 1); /* 11.5, 10, 10, 10 s */
    runs[0].epochs[1].wall_ns = UINT64_C(10500000000);
    runs[0].epochs[3].wall_ns = 1;
    runs[0].epochs[3].complete = 0;
    fake_run(&runs[1], "gnndrive", 10, 3, 1);
    runs[0].run_id = 7;
    for (int i = 0; i < 2; i++) /* no comma in a text: field() cuts at every one */
        (void)snprintf(runs[i].fanout, sizeof runs[i].fanout, "10");
    fake_figure(&runs[0].epochs[3], "latency_p99_ns", 4711);
    must(gnn_kv_set(&runs[1].config, "max-batches", "3", &err), &err);
    runs[1].status = GNN_RUN_INVALID;
    runs[1].valid = 0;
    (void)snprintf(runs[0].profile, sizeof runs[0].profile, "=1+1");
    (void)snprintf(runs[1].tag, sizeof runs[1].tag, "two\"words");
    FILE *const out = open_memstream(&text, &bytes);
    must(gnn_runs_csv(GNN_CSV_RUNS, runs, 2, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    assert_field(text, 0, "run_id", "7");
    assert_field(text, 0, "system", "ringsampler");
    assert_field(text, 0, "epochs", "4");
    assert_field(text, 0, "before_elapsed_ns", "1500000000");
    assert_field(text, 0, "before_cpu_ns", "1250000000");
    assert_field(text, 0, "before_device_read_bytes", "36700160");
    assert_field(text, 0, "before_requested_write_bytes", "2097152");
    assert_field(text, 0, "device_read_bytes", "77200000000"); /* of the epochs */
    assert_field(text, 0, "first_epoch_ns", "11500000000");
    assert_field(text, 0, "part", "");
    assert_field(text, 1, "part", "first 3 mini-batches");
    assert_field(text, 0, "epoch_min_ns", "10000000000");
    assert_field(text, 0, "epoch_p50_ns", "10250000000");
    assert_field(text, 0, "epoch_p90_ns", "10500000000");
    assert_field(text, 0, "epoch_max_ns", "10500000000");
    assert_field(text, 0, "epoch_settled", ""); /* whole epochs */
    assert_field(text, 0, "latency_p99_ns", "4711");
    assert_field(text, 0, "cap_bytes", "335544320");
    assert_field(text, 0, "preset", "");
    assert_field(text, 0, "profile", "\"'=1+1\""); /* no formula for a spreadsheet */
    assert_field(text, 1, "status", "invalid");
    assert_field(text, 1, "first_epoch_ns", "");
    assert_field(text, 1, "before_elapsed_ns", "");
    assert_field(text, 1, "before_device_read_ios", "120");
    assert_field(text, 1, "epoch_p50_ns", ""); /* an invalid run has no times */
    assert_field(text, 1, "wall_ns", "");
    assert_field(text, 1, "tag", "\"two\"\"words\"");
    free(text);
    gnn_run_record_free(&runs[0]);
    gnn_run_record_free(&runs[1]);
}

/* Two parts of an epoch, of which one is not settled: words for its time, in CSV and on the page. */
static void a_time_that_is_not_settled_is_left_out(void **state)
{
    (void)state;
    struct gnn_run_record runs[2];
    struct gnn_err err = {0};
    char *text = NULL;
    size_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        fake_run(&runs[i], "gnndrive", 10, 1, 1);
        runs[i].run_id = i;
        (void)snprintf(runs[i].fanout, sizeof runs[i].fanout, "10");
        fake_figure(&runs[i].epochs[0], "full_epoch_ns", UINT64_C(77000000000));
        fake_figure(&runs[i].epochs[0], "full_epoch_settled", i == 0 ? 0 : 1);
    }
    FILE *const out = open_memstream(&text, &bytes);
    must(gnn_runs_csv(GNN_CSV_RUNS, runs, 2, out, &err), &err);
    assert_int_equal(fclose(out), 0);
    assert_field(text, 0, "epoch_settled", "0");
    assert_field(text, 0, "epoch_p50_ns", "");
    assert_field(text, 1, "epoch_settled", "1");
    assert_field(text, 1, "epoch_p50_ns", "77000000000");
    free(text);
    text = page_of(runs, 2, "");
    must_show(text, "<td class=\"bad\">not settled</td><td class=\"n\">-</td>");
    must_show(text, ">ok</td><td class=\"n\">77</td>");
    free(text);
    gnn_run_record_free(&runs[0]);
    gnn_run_record_free(&runs[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_whole_by_itself),
        cmocka_unit_test(colours_are_those_of_the_pictures),
        cmocka_unit_test(long_series_are_thinned),
        cmocka_unit_test(an_invalid_run_has_no_times),
        cmocka_unit_test(a_part_of_an_epoch_is_named),
        cmocka_unit_test(a_ratio_below_zero_is_no_share),
        cmocka_unit_test(names_are_text),
        cmocka_unit_test(pictures_are_inside),
        cmocka_unit_test(what_is_alike_is_told_once),
        cmocka_unit_test(a_browser_follows_the_hands),
        cmocka_unit_test(a_page_that_is_too_large_is_refused),
        cmocka_unit_test(many_runs_fit),
        cmocka_unit_test(percentiles_by_hand),
        cmocka_unit_test(csv_has_a_row_a_run),
        cmocka_unit_test(a_time_that_is_not_settled_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
