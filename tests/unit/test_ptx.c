/* SPDX-License-Identifier: MIT */
/* The engine for PTX: small kernels with one planted fault each, kernels without one, and texts that are no PTX. */
#include "tests/support/must.h"
#include "tests/support/ptx/ptx.h"
#include "tests/support/seed.h"

#include "harness/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WORDS = 256, THREADS = 64, BLOCKS = 3, TEXT_MAX = 4096 };

/* %rd1: the array of WORDS words; %r1: the thread, %r2: the block, %r3: the thread's number in the grid; %rd3: the
 * address of its word; %rd4: the thread's place in `tile`, an array of THREADS words in shared memory. */
static const char head[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n"
                           ".reg .pred %p<4>;\n.reg .b16 %rs<4>;\n.reg .b32 %r<20>;\n.reg .f32 %f<8>;\n"
                           ".reg .b64 %rd<12>;\n.shared .align 4 .b8 tile[256];\n.local .align 8 .b8 own[16];\n"
                           "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n"
                           "mad.lo.s32 %r3, %r2, 64, %r1;\nmul.wide.u32 %rd2, %r3, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                           "mov.u64 %rd5, tile;\nmul.wide.u32 %rd6, %r1, 4;\nadd.s64 %rd4, %rd5, %rd6;\n"
                           ".loc 7 49 5\n";
static const char tail[] = "ret;\n}\n.file 7 \"/there/kernel.h\", 1, 2\n";

/* ---- running ---- */

static enum gnn_status open_text(const char *body, struct ptx_module **out, struct gnn_err *err)
{
    char text[TEXT_MAX];
    const int length = snprintf(text, sizeof text, "%s%s%s", head, body, tail);
    assert_true(length > 0 && (size_t)length < sizeof text);
    return ptx_open("test.ptx", text, (size_t)length, out, err);
}

static enum gnn_status run_body(const char *body, uint32_t *words, uint64_t seed, struct gnn_err *err)
{
    struct ptx_module *m = NULL;
    const enum gnn_status opened = open_text(body, &m, err);
    if (opened != GNN_OK)
        return opened;
    const uint64_t begin = (uintptr_t)words;
    const struct {
        uint64_t p;
        uint32_t n, none;
    } arguments = {begin, WORDS, 0};
    const struct ptx_range range = {begin, begin + WORDS * sizeof *words};
    const struct ptx_launch launch = {.kernel = ptx_kernel_at(m, 0),
                                      .blocks = BLOCKS,
                                      .threads = THREADS,
                                      .arguments = &arguments,
                                      .ranges = &range,
                                      .range_count = 1,
                                      .seed = seed,
                                      .steps_max = 100000};
    const enum gnn_status status = ptx_run(&launch, err);
    ptx_close(m);
    return status;
}

/* ---- planted faults ---- */

struct planted {
    const char *name, *body, *message; /* message NULL: no fault */
};

static const struct planted planted[] = {
    {"a word of each thread's own", "st.global.u32 [%rd3], %r3;\nld.global.u32 %r4, [%rd3];\n", NULL},
    {"unwritten predicate", "@%p0 bra L;\nL:\n", "register %p0 is read and was never written"},
    {"misaligned vector",
     "setp.eq.s32 %p1, %r3, 0;\n@!%p1 bra END;\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+8];\nEND:\n",
     "thread 0: 16-byte global read"},
    {"aligned vector",
     "setp.eq.s32 %p1, %r3, 0;\n@!%p1 bra END;\nld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];\nEND:\n", NULL},
    {"misaligned word", "ld.global.u32 %r4, [%rd1+2];\n", "is not aligned to its size"},
    {"read behind the array", "ld.global.u32 %r4, [%rd1+1024];\n", "is outside of every array"},
    {"last word of the array", "ld.global.u32 %r4, [%rd1+1020];\n", NULL},
    {"vector that leaves the array", "ld.global.v2.u64 {%rd7, %rd8}, [%rd1+1016];\n", "is outside of every array"},
    {"read before the array", "ld.global.u32 %r4, [%rd1+-4];\n", "is outside of every array"},
    {"unwritten register", "add.s32 %r4, %r3, %r9;\n", "register %r9 is read and was never written"},
    {"register of one branch", "setp.lt.u32 %p1, %r1, 7;\n@!%p1 bra L;\nmov.u32 %r9, 1;\nL:\nadd.s32 %r4, %r9, 1;\n",
     "register %r9 is read and was never written"},
    {"overlapping writes of blocks", "st.global.u32 [%rd1], %r2;\n", "a race: 4-byte global write"},
    {"writes of blocks, by a thread", "setp.ne.s32 %p1, %r1, 5;\n@%p1 bra L;\nst.global.u32 [%rd1], %r2;\nL:\n",
     "a race: 4-byte global write"},
    {"read of what another block writes",
     "st.global.u32 [%rd3], %r1;\nxor.b32 %r4, %r3, 64;\nmul.wide.u32 %rd7, %r4, 4;\nadd.s64 %rd8, %rd1, %rd7;\n"
     "ld.global.u32 %r5, [%rd8];\n",
     "a race: 4-byte global"},
    {"shared word of another warp, no barrier",
     "st.shared.u32 [%rd4], %r1;\nxor.b32 %r4, %r1, 32;\nmul.wide.u32 %rd7, %r4, 4;\nadd.s64 %rd8, %rd5, %rd7;\n"
     "ld.shared.u32 %r5, [%rd8];\n",
     "shared read"},
    {"shared word of another warp",
     "st.shared.u32 [%rd4], %r1;\nbar.sync 0;\nxor.b32 %r4, %r1, 32;\nmul.wide.u32 %rd7, %r4, 4;\n"
     "add.s64 %rd8, %rd5, %rd7;\nld.shared.u32 %r5, [%rd8];\nst.global.u32 [%rd3], %r5;\n",
     NULL},
    {"shared word rewritten without a second barrier",
     "st.shared.u32 [%rd4], %r1;\nbar.sync 0;\nxor.b32 %r4, %r1, 32;\nmul.wide.u32 %rd7, %r4, 4;\n"
     "add.s64 %rd8, %rd5, %rd7;\nld.shared.u32 %r5, [%rd8];\nst.shared.u32 [%rd4], %r5;\n",
     "a race: 4-byte shared"},
    {"shared word of the warp, a barrier of the block's",
     "st.shared.u32 [%rd4], %r1;\nbar.warp.sync -1;\nxor.b32 %r4, %r1, 1;\nmul.wide.u32 %rd7, %r4, 4;\n"
     "add.s64 %rd8, %rd5, %rd7;\nld.shared.u32 %r5, [%rd8];\n",
     NULL},
    {"shared word of another warp, a barrier of the warp's",
     "st.shared.u32 [%rd4], %r1;\nbar.warp.sync -1;\nxor.b32 %r4, %r1, 32;\nmul.wide.u32 %rd7, %r4, 4;\n"
     "add.s64 %rd8, %rd5, %rd7;\nld.shared.u32 %r5, [%rd8];\n",
     "shared read"},
    {"shared word of another lane, a shuffle",
     "st.shared.u32 [%rd4], %r1;\nshfl.sync.bfly.b32 %r6|%p1, %r1, 1, 31, -1;\nxor.b32 %r4, %r1, 1;\n"
     "mul.wide.u32 %rd7, %r4, 4;\nadd.s64 %rd8, %rd5, %rd7;\nld.shared.u32 %r5, [%rd8];\n",
     "a race: 4-byte shared read"},
    {"shared memory never written", "ld.shared.u32 %r4, [%rd4];\n", "of bytes that nothing was written to"},
    {"read behind shared memory", "ld.shared.u32 %r4, [%rd5+256];\n", "is outside of every array"},
    {"local memory", "mov.u64 %rd7, own;\nst.local.u32 [%rd7+12], %r1;\nld.local.u32 %r4, [%rd7+12];\n", NULL},
    {"local memory never written", "mov.u64 %rd7, own;\nst.local.u32 [%rd7], %r1;\nld.local.u64 %rd8, [%rd7];\n",
     "of bytes that nothing was written to"},
    {"write behind local memory", "mov.u64 %rd7, own;\nst.local.u32 [%rd7+16], %r1;\n", "is outside of every array"},
    {"local memory that an earlier block wrote",
     "mov.u64 %rd7, own;\nsetp.eq.s32 %p1, %r2, 1;\n@%p1 bra L;\nst.local.u32 [%rd7], %r1;\nL:\n"
     "ld.local.u32 %r4, [%rd7];\n",
     "block 1, thread"},
    {"shared memory that an earlier block wrote",
     "setp.eq.s32 %p1, %r2, 1;\n@%p1 bra L;\nst.shared.u32 [%rd4], %r1;\nL:\nld.shared.u32 %r4, [%rd4];\n",
     "block 1, thread"},
    {"a register that an earlier block wrote",
     "setp.eq.s32 %p1, %r2, 1;\n@%p1 bra L;\nmov.u32 %r9, 1;\nL:\nadd.s32 %r4, %r9, 1;\n", "block 1, thread"},
    {"words that all blocks read", "ld.global.u32 %r4, [%rd1];\n", NULL},
    {"a word that all blocks read and one writes",
     "ld.global.u32 %r4, [%rd1];\nsetp.eq.s32 %p1, %r3, 70;\n@!%p1 bra L;\nst.global.u32 [%rd1], %r3;\nL:\n",
     "a race: 4-byte global"},
    {"a word that one thread of each block reads, and one of them writes",
     "setp.ne.s32 %p1, %r1, 0;\n@%p1 ret;\nld.global.u32 %r4, [%rd1];\nsetp.ne.s32 %p2, %r2, 1;\n@%p2 ret;\n"
     "st.global.u32 [%rd1], %r3;\n",
     "a race: 4-byte global"},
    {"a word that another warp of the block read",
     "setp.ne.s32 %p1, %r2, 0;\n@%p1 ret;\nld.global.u32 %r4, [%rd1];\nsetp.eq.s32 %p2, %r1, 33;\n@!%p2 bra L;\n"
     "st.global.u32 [%rd1], %r3;\nL:\n",
     "a race: 4-byte global"},
    {"a word that the block read before a barrier",
     "setp.ne.s32 %p1, %r2, 0;\n@%p1 ret;\nld.global.u32 %r4, [%rd1];\nbar.sync 0;\nsetp.eq.s32 %p2, %r1, 33;\n"
     "@!%p2 bra L;\nst.global.u32 [%rd1], %r3;\nL:\n",
     NULL},
    {"a word that the warp read before its barrier",
     "setp.ge.u32 %p1, %r3, 32;\n@%p1 ret;\nld.global.u32 %r4, [%rd1];\nbar.warp.sync -1;\n"
     "setp.eq.s32 %p2, %r1, 3;\n@!%p2 bra L;\nst.global.u32 [%rd1], %r3;\nL:\n",
     NULL},
    {"shared word of another warp that passed as many barriers of its own",
     "setp.ge.u32 %p1, %r1, 32;\nsetp.ne.s32 %p2, %r1, 0;\n@%p2 bra L;\nst.shared.u32 [%rd5], %r1;\nL:\n"
     "bar.warp.sync -1;\nbar.warp.sync -1;\n@!%p1 bra M;\nld.shared.u32 %r4, [%rd5];\nM:\n",
     "4-byte shared read"},
    {"shared word that a lane of another warp rewrites behind two barriers of its own",
     "setp.lt.u32 %p1, %r1, 32;\nsetp.eq.s32 %p2, %r1, 33;\n@!%p2 bra L;\nst.shared.u32 [%rd5], %r1;\nL:\nbar.sync 0;\n"
     "ld.shared.u32 %r4, [%rd5];\nbar.warp.sync -1;\n@!%p2 bra M;\nst.shared.u32 [%rd5], %r1;\nM:\n",
     "a race: 4-byte shared"},
    {"local words of each thread",
     "mov.u64 %rd7, own;\nst.local.u32 [%rd7], %r3;\nbar.sync 0;\nld.local.u32 %r4, [%rd7];\n"
     "sub.s32 %r5, %r4, %r3;\nmul.wide.s32 %rd8, %r5, 4096;\nadd.s64 %rd9, %rd3, %rd8;\nld.global.u32 %r6, [%rd9];\n",
     NULL},
    {"local memory in generic form",
     "mov.u64 %rd7, own;\ncvta.local.u64 %rd8, %rd7;\nst.u32 [%rd8], %r1;\nld.local.u32 %r4, [%rd7];\n", NULL},
    {"read behind the parameters", "mov.b64 %rd7, p;\nld.param.u32 %r4, [%rd7+12];\n", "is outside of every array"},
    {"barrier of one branch", "setp.lt.u32 %p1, %r1, 7;\n@!%p1 bra L;\nbar.sync 0;\nL:\n",
     "a barrier under divergence: lanes 0xffffff80"},
    {"barrier of one warp", "setp.lt.u32 %p1, %r1, 32;\n@!%p1 bra L;\nbar.sync 0;\nL:\n",
     "a barrier under divergence: warp 0 waits here, and warp 1 has ended"},
    {"barrier with a guard", "setp.lt.u32 %p1, %r1, 40;\n@%p1 bar.sync 0;\n", "a barrier under divergence"},
    {"barriers that differ by warp",
     "setp.lt.u32 %p1, %r1, 32;\n@!%p1 bra L;\nbar.sync 0;\nbra M;\nL:\nbar.sync 0;\nM:\n",
     "warp 1 has ended or waits elsewhere"},
    {"barrier behind the end of some", "setp.lt.u32 %p1, %r1, 7;\n@%p1 ret;\nbar.sync 0;\n",
     "a barrier under divergence: lanes 0x7f"},
    {"shuffle of one branch",
     "setp.lt.u32 %p1, %r1, 7;\n@!%p1 bra L;\nshfl.sync.bfly.b32 %r4|%p2, %r1, 1, 31, -1;\nL:\n",
     "lanes 0x7f of the warp wait for lanes that never come"},
    {"shuffle with lanes that have ended",
     "setp.lt.u32 %p1, %r1, 7;\n@%p1 ret;\nshfl.sync.bfly.b32 %r4|%p2, %r1, 1, 31, -1;\n",
     "lanes 0xffffffff are to meet, of which 0x7f have ended"},
    {"shuffle from a lane outside of its mask",
     "setp.lt.u32 %p1, %r1, 7;\n@!%p1 bra L;\nshfl.sync.bfly.b32 %r4|%p2, %r1, 1, 31, 127;\nL:\n",
     "thread 6: a shuffle from lane 7, which is absent"},
    {"shuffle within its mask",
     "setp.lt.u32 %p1, %r1, 8;\n@!%p1 bra L;\nshfl.sync.bfly.b32 %r4|%p2, %r1, 1, 31, 255;\nL:\n", NULL},
    {"loop without end", "L:\nbra L;\n", "no end after the most instructions"},
    {"write to a parameter", "mov.b64 %rd7, p;\nst.param.u64 [%rd7], %rd1;\n", "of a constant"},
};

static void test_planted_faults_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++)
        for (uint64_t seed = 0; seed < 16; seed++) {
            _Alignas(256) uint32_t words[WORDS] = {0};
            struct gnn_err err = {0};
            const enum gnn_status status = run_body(planted[i].body, words, seed, &err);
            if ((status == GNN_EBUG) != (planted[i].message != NULL))
                fail_msg("%s: %s", planted[i].name, status == GNN_OK ? "no fault" : err.message);
            if (planted[i].message == NULL)
                continue;
            must_show(err.message, planted[i].message);
            must_show(err.message, "k, kernel.h:49 (test.ptx:");
        }
}

/* Lanes that meet late: each loops as often as its number says, then all shuffle. */
static void test_lanes_meet_again(void **state)
{
    (void)state;
    _Alignas(256) uint32_t words[WORDS] = {0};
    struct gnn_err err = {0};
    must(run_body("mov.u32 %r4, 0;\nmov.u32 %r5, 0;\nL:\nsetp.ge.u32 %p1, %r4, %r1;\n@%p1 bra M;\n"
                  "add.s32 %r4, %r4, 1;\nadd.s32 %r5, %r5, %r4;\nbra L;\nM:\n"
                  "shfl.sync.bfly.b32 %r6|%p2, %r5, 3, 31, -1;\nst.global.u32 [%rd3], %r6;\n",
                  words, 1, &err),
         &err);
    for (uint32_t i = 0; i < BLOCKS * THREADS; i++) {
        const uint32_t other = (i % THREADS) ^ 3;
        assert_int_equal(words[i], other * (other + 1) / 2);
    }
}

static void test_the_order_is_the_seeds(void **state)
{
    (void)state;
    static const char one_a_block[] = "setp.ne.s32 %p1, %r1, 0;\n@%p1 ret;\nst.global.u32 [%rd1], %r2;\n";
    uint32_t different = 0;
    char first[GNN_ERR_MAX] = "";
    for (uint64_t seed = 0; seed < 16; seed++) {
        _Alignas(256) uint32_t words[WORDS] = {0};
        struct gnn_err err = {0}, again = {0};
        assert_int_equal(run_body(one_a_block, words, seed, &err), GNN_EBUG);
        assert_int_equal(run_body(one_a_block, words, seed, &again), GNN_EBUG);
        assert_string_equal(err.message, again.message);
        different += seed > 0 && strcmp(first, err.message) != 0;
        if (seed == 0)
            memcpy(first, err.message, sizeof first);
    }
    assert_true(different > 0);
}

/* ---- values ---- */

static const struct {
    const char *body; /* leaves a word of 64 bits in %rd9 */
    uint64_t value;
} values[] = {
    {"add.s32 %r4, 2147483647, 1;\ncvt.s64.s32 %rd9, %r4;\n", UINT64_C(0xffffffff80000000)},
    {"add.s32 %r4, 2147483647, 1;\ncvt.u64.u32 %rd9, %r4;\n", UINT64_C(0x80000000)},
    {"sub.s16 %rs1, 1, 2;\ncvt.u64.u16 %rd9, %rs1;\n", 0xffff},
    {"mul.lo.s64 %rd9, 0x100000001, 0x300000005;\n", UINT64_C(0x800000005)},
    {"mul.hi.u32 %r4, 0xFFFFFFFF, 0xFFFFFFFE;\ncvt.u64.u32 %rd9, %r4;\n", 0xfffffffd},
    {"mul.hi.u64 %rd9, -1, -2;\n", UINT64_C(0xfffffffffffffffd)},
    {"mul.wide.u32 %rd9, -1, 2;\n", UINT64_C(0x1fffffffe)},
    {"mul.wide.s32 %rd9, -1, 2;\n", UINT64_C(0xfffffffffffffffe)},
    {"mad.lo.s32 %r4, -3, 5, 7;\ncvt.s64.s32 %rd9, %r4;\n", UINT64_C(0xfffffffffffffff8)},
    {"mad.wide.u32 %rd9, -1, 2, 5;\n", UINT64_C(0x200000003)},
    {"div.s64 %rd9, -7, 2;\n", UINT64_C(0xfffffffffffffffd)},
    {"rem.s64 %rd9, -7, 2;\n", UINT64_C(0xffffffffffffffff)},
    {"div.u64 %rd9, -7, 2;\n", UINT64_C(0x7ffffffffffffffc)},
    {"shl.b32 %r4, 1, 32;\ncvt.u64.u32 %rd9, %r4;\n", 0},
    {"shl.b32 %r4, 3, 31;\ncvt.u64.u32 %rd9, %r4;\n", 0x80000000},
    {"shr.s64 %rd9, -8, 70;\n", UINT64_MAX},
    {"shr.u64 %rd9, -8, 60;\n", 15},
    {"shr.s32 %r4, -8, 1;\ncvt.u64.u32 %rd9, %r4;\n", 0xfffffffc},
    {"min.s32 %r4, -1, 1;\ncvt.u64.u32 %rd9, %r4;\n", 0xffffffff},
    {"max.u32 %r4, -1, 1;\ncvt.u64.u32 %rd9, %r4;\n", 0xffffffff},
    {"setp.lt.s32 %p1, -1, 1;\nselp.b64 %rd9, 5, 6, %p1;\n", 5},
    {"setp.lt.u32 %p1, -1, 1;\nselp.b64 %rd9, 5, 6, %p1;\n", 6},
    {"setp.ge.u64 %p1, 7, 7;\nnot.pred %p2, %p1;\nselp.b64 %rd9, 5, 6, %p2;\n", 6},
    {"mov.b32 %f1, 0x7FC00000;\nsetp.ne.f32 %p1, %f1, %f1;\nselp.b64 %rd9, 5, 6, %p1;\n", 6},
    {"mov.b32 %f1, 0x7FC00000;\nsetp.neu.f32 %p1, %f1, %f1;\nselp.b64 %rd9, 5, 6, %p1;\n", 5},
    {"mov.b32 %f1, 0x7FC00000;\nsetp.gtu.f32 %p1, %f1, 0f00000000;\nselp.b64 %rd9, 5, 6, %p1;\n", 5},
    {"mov.b32 %f1, 0x7FC00000;\nmax.f32 %f2, %f1, 0fBF800000;\nmov.b32 %r4, %f2;\ncvt.u64.u32 %rd9, %r4;\n",
     0xbf800000},
    {"fma.rn.f32 %f1, 0f3F800001, 0f3F800001, 0fBF800002;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0x28800000},
    {"fma.rm.f32 %f1, 0f3F800000, 0f3F800000, 0f33000000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0x3f800000},
    {"fma.rm.f32 %f1, 0f3F800000, 0fBF800000, 0fB3000000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0xbf800001},
    {"rcp.rn.f32 %f1, 0f40800000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0x3e800000},
    {"ex2.approx.ftz.f32 %f1, 0f40400000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0x41000000},
    {"ex2.approx.ftz.f32 %f1, 0fC3060000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0},
    {"cvt.sat.f32.f32 %f1, 0f7FC00000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0},
    {"cvt.sat.f32.f32 %f1, 0f40000000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0x3f800000},
    {"cvt.rni.f32.f32 %f1, 0f40200000;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0x40000000},
    {"cvt.rzi.s32.f32 %r4, 0fC0200000;\ncvt.s64.s32 %rd9, %r4;\n", UINT64_C(0xfffffffffffffffe)},
    {"cvt.rzi.u32.f32 %r4, 0fC0200000;\ncvt.u64.u32 %rd9, %r4;\n", 0},
    {"cvt.rzi.s32.f32 %r4, 0f7F800000;\ncvt.u64.u32 %rd9, %r4;\n", 0x7fffffff},
    {"cvt.rn.f32.u32 %f1, -1;\nmov.b32 %r4, %f1;\ncvt.u64.u32 %rd9, %r4;\n", 0x4f800000},
    {"cvt.u16.u64 %rs1, 0x12345;\ncvt.u64.u16 %rd9, %rs1;\n", 0x2345},
    {"cvt.s16.s8 %rs1, 200;\ncvt.u64.u16 %rd9, %rs1;\n", 0xffc8},
    {"mov.b64 %rd9, {7, 9};\n", UINT64_C(0x900000007)},
    {"mov.b64 {%r4, %r5}, 0x900000007;\ncvt.u64.u32 %rd9, %r5;\n", 9},
    {"ld.param.s8 %rs1, [n+1];\ncvt.u64.u16 %rd9, %rs1;\n", 1},
    {"st.global.u32 [%rd3], 0x80FF;\nld.global.s8 %r4, [%rd3];\ncvt.u64.u32 %rd9, %r4;\n", 0xffffffff},
    {"st.global.u32 [%rd3], 0x80FF;\nld.global.u8 %r4, [%rd3+1];\ncvt.u64.u32 %rd9, %r4;\n", 0x80},
    {"popc.b32 %r4, 0xF0F;\ncvt.u64.u32 %rd9, %r4;\n", 8},
    {"clz.b32 %r4, 255;\ncvt.u64.u32 %rd9, %r4;\n", 24},
    {"shfl.sync.idx.b32 %r4, %r1, 5, 31, -1;\ncvt.u64.u32 %rd9, %r4;\n", 5},
    {"shfl.sync.down.b32 %r4|%p1, %r1, 2, 31, -1;\ncvt.u64.u32 %rd9, %r4;\n", 2},
    {"shfl.sync.up.b32 %r4|%p1, %r1, 2, 0, -1;\nselp.b64 %rd9, 5, 6, %p1;\n", 6},
};

/* The thread 0 of the grid stores the word. */
static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        _Alignas(256) uint32_t words[WORDS] = {0};
        char body[1024];
        struct gnn_err err = {0};
        uint64_t found = 0;
        const int length = snprintf(
            body, sizeof body, "%ssetp.ne.s32 %%p3, %%r3, 0;\n@%%p3 bra E;\nst.global.u64 [%%rd1+896], %%rd9;\nE:\n",
            values[i].body);
        assert_true(length > 0 && (size_t)length < sizeof body);
        const enum gnn_status status = run_body(body, words, 1, &err);
        if (status != GNN_OK)
            fail_msg("%s: %s", values[i].body, err.message);
        memcpy(&found, &words[224], sizeof found);
        if (found != values[i].value)
            fail_msg("%s: %#llx, not %#llx", values[i].body, (unsigned long long)found,
                     (unsigned long long)values[i].value);
    }
}

/* ---- texts ---- */

static const struct {
    const char *body;
    enum gnn_status status;
    const char *message;
} refused[] = {
    {"frob.u32 %r4, %r3;\n", GNN_ENOTSUP, "the opcode frob.u32 is not modelled"},
    {"atom.global.add.u32 %r4, [%rd1], 1;\n", GNN_ENOTSUP, "the opcode atom.global.add.u32 is not modelled"},
    {"ld.const.u32 %r4, [%rd1];\n", GNN_ENOTSUP, "the opcode ld.const.u32 is not modelled"},
    {"bar.red.popc.u32 %r4, 0, %p1;\n", GNN_ENOTSUP, "the opcode bar.red.popc.u32 is not modelled"},
    {"add.s32 %r4, %r3;\n", GNN_EFORMAT, "expected as many operands as the opcode has"},
    {"add.s32 7, %r3, 1;\n", GNN_EFORMAT, "expected a register as target"},
    {"add.s32 %r4, %r99, 1;\n", GNN_ENOTSUP, "the register %r99 is not modelled"},
    {"mov.u32 %r4, %clock;\n", GNN_ENOTSUP, "the register %clock is not modelled"},
    {"add.s32 %r4, %r3, 1\n", GNN_EFORMAT, "test.ptx:24: expected \",\""},
    {"bra NOWHERE;\n", GNN_EFORMAT, "expected a branch to a label of the kernel, found \"NOWHERE\""},
    {"L:\nL:\n", GNN_EFORMAT, "a label that is not there twice"},
    {"ld.shared.u32 %r4, [p];\n", GNN_EFORMAT, "a variable of the opcode's space"},
    {"ld.param.u64 %rd7, [n];\n", GNN_EFORMAT, "8 bytes at 0 of a variable of 4 bytes"},
    {"st.global.v4.f64 [%rd1], {%f1, %f2, %f3, %f4};\n", GNN_ENOTSUP, "the opcode st.global.v4.f64"},
    {"bar.sync 1;\n", GNN_EFORMAT, "expected barrier 0"},
    {".shared .align 4 .b8 more[60000];\n", GNN_EFORMAT, "expected a smaller number"},
    {".reg .b32 %x<9000>;\n", GNN_EFORMAT, "expected a smaller number"},
    {".branchtargets L;\n", GNN_ENOTSUP, "the directive .branchtargets is not modelled"},
};

static void test_texts_that_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct ptx_module *m = NULL;
        struct gnn_err err = {0};
        const enum gnn_status status = open_text(refused[i].body, &m, &err);
        if (status != refused[i].status)
            fail_msg("%s: %s", refused[i].body, status == GNN_OK ? "accepted" : err.message);
        must_show(err.message, refused[i].message);
        must_show(err.message, "test.ptx:");
    }
}

/* Damaged texts are refused, or run to an end or a fault; sanitizers see whether memory is kept. */
static void test_damaged_texts(void **state)
{
    (void)state;
    static const char marks[] = "%.,;:[]{}@!|-+<>\"/*_0123456789rdfpuslLbx \n\0\x80";
    struct gnn_rng rng = gnn_rng_at(test_seed());
    uint32_t accepted = 0;
    for (uint32_t round = 0; round < 4000; round++) {
        _Alignas(256) uint32_t words[WORDS] = {0};
        char body[1024];
        struct gnn_err err = {0};
        const char *const from = planted[gnn_rng_below(&rng, sizeof planted / sizeof *planted)].body;
        size_t length = strlen(from);
        memcpy(body, from, length + 1);
        for (uint64_t times = 1 + gnn_rng_below(&rng, 3); times > 0 && length > 0; times--) {
            const size_t at = gnn_rng_below(&rng, length), most = gnn_min_u64(length - at, 9);
            if (gnn_rng_below(&rng, 3) > 0) {
                body[at] = marks[gnn_rng_below(&rng, sizeof marks)];
                continue;
            }
            const size_t span = 1 + gnn_rng_below(&rng, most);
            memmove(body + at, body + at + span, length - at - span + 1);
            length -= span;
        }
        const enum gnn_status status = run_body(body, words, round, &err);
        accepted += status == GNN_OK || status == GNN_EBUG;
        assert_true(status == GNN_OK || err.status == status);
    }
    print_message("%u damaged texts were accepted\n", accepted);
    assert_true(accepted > 20);
}

/* Every beginning of a text. */
static void test_cut_texts(void **state)
{
    (void)state;
    char text[TEXT_MAX];
    const int length = snprintf(text, sizeof text, "%s%s%s", head, planted[1].body, tail);
    for (int cut = 0; cut < length; cut++) {
        struct ptx_module *m = NULL;
        struct gnn_err err = {0};
        char *const exact = strndup(text, (size_t)cut); /* so that a read behind it shows */
        const enum gnn_status status = ptx_open("test.ptx", exact, (size_t)cut, &m, &err);
        assert_true(status == GNN_OK || status == GNN_EFORMAT || status == GNN_ENOTSUP);
        ptx_close(m);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planted_faults_are_found),
        cmocka_unit_test(test_lanes_meet_again),
        cmocka_unit_test(test_the_order_is_the_seeds),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_texts_that_are_refused),
        cmocka_unit_test(test_damaged_texts),
        cmocka_unit_test(test_cut_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
