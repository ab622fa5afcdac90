/* SPDX-License-Identifier: MIT */
/* Presets: a paper's figures divided by the scale, and what was typed wins wherever it stands. */
#include "harness/cli/run_args.h"
#include "harness/run/preset.h"
#include "harness/run/record_fill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS_MAX = 24 };

/* `oocgnn run WORDS`, as far as the configuration. */
static enum gnn_status parse(const char *words, struct gnn_run_config *config, struct gnn_err *err)
{
    char text[512];
    char *argv[WORDS_MAX] = {text};
    int argc = 1;
    (void)snprintf(text, sizeof text, "run %s", words);
    char *rest = text;
    (void)strsep(&rest, " ");
    for (char *word = strsep(&rest, " "); word != NULL && argc < WORDS_MAX - 1; word = strsep(&rest, " "))
        if (word[0] != '\0')
            argv[argc++] = word;
    struct gnn_run_request request;
    return gnn_run_args(argc, argv, config, &request, err);
}

static void figures_are_divided_by_the_scale(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        uint32_t batch;
        uint64_t memory_bytes;
    } cases[] = {
        {"--preset gnndrive", 1000, UINT64_C(32) << 30},
        {"--preset gnndrive --scale 1/100", 10, UINT64_C(343597383) / 4096 * 4096},
        {"--scale 0.01 --preset gnndrive", 10, UINT64_C(343597383) / 4096 * 4096},
        {"--preset ginex --scale 1/100", 10, UINT64_C(85899345) / 4096 * 4096},
        {"--preset agnes --scale 1/1000", 1, UINT64_C(34359738) / 4096 * 4096},
        {"--preset gnndrive --scale 1/2001", 1, UINT64_C(17171283) / 4096 * 4096}, /* never 0 seeds */
        {"--preset gnndrive --scale 1/400", 3, UINT64_C(85899345) / 4096 * 4096},  /* 2.5, rounded */
        {"--preset gnndrive --scale 1/4294967295", 1, 4096},                       /* never no cap */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_run_config config;
        struct gnn_err err = {0};
        if (parse(cases[i].words, &config, &err) != GNN_OK)
            fail_msg("%s: %s", cases[i].words, err.message);
        if (config.batch_size != cases[i].batch || config.memory_bytes != cases[i].memory_bytes)
            fail_msg("%s: batch %u, memory %llu", cases[i].words, config.batch_size,
                     (unsigned long long)config.memory_bytes);
        assert_int_equal(config.hidden, 256);
        assert_int_equal(config.fanout.count, 3);
        for (int hop = 0; hop < 3; hop++)
            assert_int_equal(config.fanout.values[hop], 10);
    }
}

/* An option that was typed wins over the preset before and after it, even where it equals the program's
 * default. */
static void what_was_typed_wins(void **state)
{
    (void)state;
    static const char *const orders[] = {
        "--preset gnndrive --scale 1/100 --batch 1000 --memory 64M --fanout 3,2 --hidden 7 --model gat",
        "--batch 1000 --memory 64M --fanout 3,2 --hidden 7 --model gat --scale 1/100 --preset gnndrive",
    };
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
        struct gnn_run_config config;
        struct gnn_err err = {0};
        assert_int_equal(parse(orders[i], &config, &err), GNN_OK);
        assert_string_equal(config.preset, "gnndrive");
        assert_int_equal(config.batch_size, 1000);
        assert_int_equal(config.memory_bytes, 64u << 20);
        assert_int_equal(config.hidden, 7);
        assert_int_equal(config.model, GNN_MODEL_GAT);
        assert_int_equal(config.fanout.count, 2);
        assert_int_equal(config.fanout.values[0], 3);
        assert_int_equal(config.scale_divisor, 100);
    }
}

/* A preset sets its systems' parameters too; what was typed wins over them, and the record tells which is which. */
static void parameters_of_systems_are_set(void **state)
{
    (void)state;
    static const struct {
        const char *words, *key, *value, *held;
    } cases[] = {
        {"--system gnndrive --preset gnndrive", "gnndrive.samplers", "4",
         "memory,batch,id-bytes,lr,model,fanout,hidden,gnndrive.samplers,gnndrive.extractors,gnndrive.extract_queue,"
         "gnndrive.train_queue,gnndrive.batch_rule,gnndrive.meta"},
        {"--set gnndrive.samplers=1 --preset gnndrive --batch 9 --system gnndrive", "gnndrive.samplers", "1",
         "memory,id-bytes,lr,model,fanout,hidden,gnndrive.extractors,gnndrive.extract_queue,gnndrive.train_queue,"
         "gnndrive.batch_rule,gnndrive.meta"},
        {"--set gnndrive.samplers=4 --preset gnndrive --hidden 8 --system gnndrive", "gnndrive.samplers", "4",
         "memory,batch,id-bytes,lr,model,fanout,gnndrive.samplers,gnndrive.extractors,gnndrive.extract_queue,"
         "gnndrive.train_queue,gnndrive.batch_rule,gnndrive.meta"},
        {"--system pygplus --preset gnndrive", "pygplus.workers", "0", "memory,batch,id-bytes,lr,model,fanout,hidden"},
        {"--memory 1G --system gnndrive --preset equal-memory", "gnndrive.buffer_share", "50",
         "batch,id-bytes,lr,model,fanout,hidden,gnndrive.batch_rule,gnndrive.buffer_share,gnndrive.meta"},
        {"--system ginex --set ginex.cache_share=40 --preset equal-memory", "ginex.cache_share", "40",
         "memory,batch,id-bytes,lr,model,fanout,hidden,ginex.superbatch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_run_config config;
        struct gnn_kv_list list = {0};
        struct gnn_err err = {0};
        char held[600] = "";
        if (parse(cases[i].words, &config, &err) != GNN_OK || gnn_record_list_config(&config, &list, &err) != GNN_OK)
            fail_msg("%s: %s", cases[i].words, err.message);
        assert_string_equal(gnn_kv_get(&list, cases[i].key), cases[i].value);
        if (cases[i].held != NULL) {
            assert_int_equal(gnn_preset_held(&config, held, sizeof held, &err), GNN_OK);
            assert_string_equal(held, cases[i].held);
        }
        gnn_kv_clear(&list);
    }
}

/* --set is taken once, though the words are read twice. */
static void settings_are_not_doubled(void **state)
{
    (void)state;
    struct gnn_run_config config;
    struct gnn_err err = {0};
    assert_int_equal(parse("--set gnndrive.extractors=2 --preset gnndrive --scale 1/10", &config, &err), GNN_OK);
    uint32_t typed = 0;
    for (uint32_t i = 0; i < config.set_count; i++)
        typed += strcmp(config.sets[i], "gnndrive.extractors=2") == 0 ? 1 : 0;
    assert_int_equal(typed, 1);
    assert_string_equal(config.sets[config.set_count - 1], "gnndrive.extractors=2"); /* the last one holds */
}

static void apply_at_every_scale(void *ctx, const struct gnn_preset *preset)
{
    static const uint32_t scales[] = {1, 10, 100, 4000, UINT32_MAX};
    ++*(int *)ctx;
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        struct gnn_run_config config;
        struct gnn_err err = {0};
        gnn_run_config_defaults(&config);
        config.scale_divisor = scales[i];
        assert_int_equal(gnn_preset_apply(preset->name, &config, &err), GNN_OK);
        assert_true(config.batch_size >= 1);
        const bool uncapped = strcmp(preset->name, "diskgnn") == 0; /* its paper limits the caches alone */
        assert_true((config.memory_bytes == 0) == uncapped && config.memory_bytes % GNN_PAGE_BYTES == 0);
        assert_string_equal(config.preset, preset->name);
    }
    assert_true(preset->title[0] != '\0' && preset->source[0] != '\0');
}

static void every_preset_applies_at_every_scale(void **state)
{
    (void)state;
    int count = 0;
    struct gnn_err err = {0};
    assert_int_equal(gnn_preset_each(apply_at_every_scale, &count, &err), GNN_OK);
    assert_int_equal(count, 9);
    struct gnn_run_config config;
    gnn_run_config_defaults(&config);
    assert_int_equal(gnn_preset_apply("gnndrve", &config, &err), GNN_EUSAGE);
    assert_non_null(strstr(err.message, "did you mean \"gnndrive\"? There are agnes-8g, agnes, diskgnn, equal-memory, "
                                        "ginex, gnndrive, graphbolt, mariusgnn, ringsampler"));
    err = (struct gnn_err){0};
    assert_int_equal(gnn_preset_apply("../presets/ginex", &config, &err), GNN_EUSAGE);
}

/* Writes $XDG_DATA_HOME/oocgnn/presets/mine.ini and applies it at scale 1/10. */
static enum gnn_status apply_text(const char *text, struct gnn_run_config *config, struct gnn_err *err)
{
    char root[] = "/tmp/oocgnn-preset-XXXXXX", dir[64], presets[96], path[128];
    assert_non_null(mkdtemp(root));
    (void)snprintf(dir, sizeof dir, "%s/oocgnn", root);
    (void)snprintf(presets, sizeof presets, "%s/presets", dir);
    (void)snprintf(path, sizeof path, "%s/mine.ini", presets);
    assert_int_equal(mkdir(dir, 0777) | mkdir(presets, 0777), 0);
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
    (void)setenv("XDG_DATA_HOME", root, 1);
    gnn_run_config_defaults(config);
    config->scale_divisor = 10;
    *err = (struct gnn_err){0};
    const enum gnn_status status = gnn_preset_apply("mine", config, err);
    (void)unsetenv("XDG_DATA_HOME");
    assert_int_equal(unlink(path) | rmdir(presets) | rmdir(dir) | rmdir(root), 0);
    return status;
}

static void a_file_of_the_user_is_a_preset(void **state)
{
    (void)state;
    struct gnn_run_config config;
    struct gnn_err err;
    assert_int_equal(apply_text("[preset]\nbatch = 90\nfanout = 5,4\nlr = 0.009\nid-bytes = 8\n", &config, &err),
                     GNN_OK);
    assert_int_equal(config.batch_size, 9);
    assert_int_equal(config.fanout.count, 2);
    assert_int_equal(gnn_id_width_bytes(config.id_width), 8);
    assert_true(config.lr > 0.00284 && config.lr < 0.00285); /* 0.009 / sqrt(10) */
    assert_int_equal(config.memory_bytes, 0);                /* the file names none: no cap stays no cap */
}

static void mistakes_in_a_file_are_named_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[preset]\nbatch = 90\nfanuot = 5,4\n",
         "mine.ini:3: a preset has no key \"fanuot\"; did you mean \"fanout\"?"},
        {"[preset]\nsystem = null\n", "mine.ini:2: a preset has no key \"system\""},
        {"[preset]\nbatch = many\n", "mine.ini:2: option batch: \"many\""},
        {"[presets]\nbatch = 90\n", "mine.ini: a preset begins with the section [preset]"},
        {"", "mine.ini: a preset begins with the section [preset]"},
        {"[preset]\nbatch = 9\n[gnndriv]\nslots = 1\n", "mine.ini:3: [gnndriv]: unknown system"},
        {"[preset]\nbatch = 9\n[gnndrive]\nsots = 1\n",
         "mine.ini:4: --set gnndrive.sots=1: no option \"sots\"; did you"},
        {"[preset]\nbatch = 9\n[agnes]\nblock = 17M\n", "mine.ini:4: --set agnes.block=17M: option block:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct gnn_run_config config;
        struct gnn_err err;
        assert_int_equal(apply_text(cases[i].text, &config, &err), GNN_EUSAGE);
        if (strstr(err.message, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].text, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_divided_by_the_scale),
        cmocka_unit_test(what_was_typed_wins),
        cmocka_unit_test(parameters_of_systems_are_set),
        cmocka_unit_test(settings_are_not_doubled),
        cmocka_unit_test(every_preset_applies_at_every_scale),
        cmocka_unit_test(a_file_of_the_user_is_a_preset),
        cmocka_unit_test(mistakes_in_a_file_are_named_with_their_line),
    };
    return cmocka_run_group_tests_name("preset", tests, NULL, NULL);
}
