# SPDX-License-Identifier: MIT
# oocgnn. Objects go to $(BUILD); nothing is written elsewhere.
#   make                 the program, $(BUILD)/oocgnn
#   make demo            set-up, build, a small graph, epoch time over the memory limit for four systems: table and plot
#   make test            the quick suite; with SANITIZE=address,undefined or SANITIZE=thread the same under sanitizers
#   make test-long       both sanitizers, longer fuzzing, large graphs, real-data accuracy
#   make bench           speed against fio and the machine's SGEMM peak
#   make agree           the same runs on this machine and simulated with its profile: figures under build/gcc/agree;
#                        AGREE= passes options of `oocgnn figure`
#   make figures         every figure: runs of two costs, Papers100M at scale 1, and the data of results/; about five hours,
#                        repeat it to continue; FIGURES= directory of database and pictures, JOBS= runs at a time
#   make faults          random failures in simulated runs of every system: N= runs, SEED= of the first, JOBS= processes
#   make kills           runs of every system killed at random moments: N= kills, SEED= of the first
#   make fuzz            libFuzzer over every parser, T= seconds each, TARGETS= some of tests/fuzz/corpus, JOBS= at a time
#   make mutate          changes a line of the sources at a time and asks the quick suite: MUTATE= passes options
#   make test-vm         the distribution's kernel in an emulated machine with NVMe drives: VM= passes parts and --out FILE
#   make test-bare       both README commands on a minimal Debian root, without and with control groups: BARE= passes options
#   make test-gpu        what only a GPU can show, under eight minutes; skipped with a message where there is none
#   make bench-gpu       a GPU's rates, training steps against their roofline and PyTorch, transfers, an epoch's floors
#   make gpu-bundle      build/gpu-bundle, which runs both on a GPU machine that has neither source nor packages
#   make install         PREFIX= and DESTDIR= as usual
#   make format lint     clang-format; clang-tidy, cppcheck, shellcheck
SHELL := /bin/bash
.DEFAULT_GOAL := all

ifeq ($(origin CC),default)
CC := gcc
endif
ARCH ?= native
SANITIZE ?=
# Warnings of a compiler nobody here has seen stop the machine that checks changes, not the person who tries the program.
WERROR ?= $(filter 1 true,$(CI))
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build/$(notdir $(CC))$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
comma := ,

PKG_CONFIG ?= pkg-config
PACKAGES := liburing sqlite3 openblas inih jansson libxxhash zlib libcgroup
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla \
        -Wpointer-arith -Wundef $(if $(WERROR),-Werror)
OPT ?= $(if $(SANITIZE),-O1 -fno-omit-frame-pointer,-O2)
# errno of sqrt and floating-point traps are not used anywhere; without them loops with either vectorise.
FAST_OPT ?= $(if $(SANITIZE),,-O3 -march=$(ARCH) -fno-math-errno -fno-trapping-math)
GEN := $(BUILD)/gen
CPPFLAGS += -I. -I$(GEN) -D_GNU_SOURCE $(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null)
CFLAGS += -std=c17 -g $(OPT) $(WARN) -pthread -ffp-contract=off $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
LDFLAGS += -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE))
LDLIBS += $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null) -lm -ldl
# Kernels for products of narrow matrices, where there is libxsmm's generator (x86 alone); else BLAS does them all.
# XSMM= leaves them out.
ifeq ($(origin XSMM),undefined)
XSMM := $(shell CC='$(CC)' CPPFLAGS='$(CPPFLAGS)' LDFLAGS='$(LDFLAGS)' scripts/setup.sh libxsmm 2>/dev/null)
endif
LDLIBS += $(if $(XSMM),-lxsmmgen)

LIB_SRC := $(filter-out harness/main.c,$(wildcard harness/*.c harness/*/*.c harness/*/*/*.c systems/*.c systems/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB := $(BUILD)/liboocgnn.a
BIN := $(BUILD)/oocgnn

# The arithmetic a second time in double precision, for finite differences.
DOUBLE_SRC := $(wildcard harness/base/*.c harness/model/*.c harness/tensor/*.c harness/tensor/ref/*.c)
DOUBLE_OBJ := $(DOUBLE_SRC:%.c=$(BUILD)/double/%.o)

TEST_SRC := $(wildcard tests/unit/test_*.c tests/op/test_*.c tests/golden/test_*.c tests/differential/test_*.c \
              tests/fault/test_*.c tests/sim/test_*.c tests/cli/test_*.c tests/fuzz/test_*.c tests/gpu/test_*.c)
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
DOUBLE_TEST_SRC := $(wildcard tests/double/test_*.c)
DOUBLE_TEST_BIN := $(DOUBLE_TEST_SRC:%.c=$(BUILD)/%)
SCRIPT_TESTS := $(wildcard tests/style/test_*.sh tests/gpu/test_*.sh tests/slurm/test_*.sh tests/plugin/test_*.sh)
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c tests/support/ptx/*.c))
BENCH_BIN := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))
BENCH_CXX := $(patsubst %.cc,$(BUILD)/%,$(wildcard tests/bench/bench_*.cc))
GPU_BIN := $(BUILD)/tests/gpu/bench_gpu $(filter $(BUILD)/tests/gpu/%,$(TEST_BIN))
GPU_TEST_OBJ := $(patsubst %.c,$(BUILD)/%.o,tests/gpu/device.c $(patsubst %,tests/gpu/bench_%.c,step reads transfer))

# CUDA: a plugin where nvcc is found; its back-end and kernels a second time as host C++, which the op tests run.
ifeq ($(origin CXX),default)
CXX := g++
endif
NVCC ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
# Compute capabilities without the point. Devices newer than the last compile its PTX when they first load the plugin.
CUDA_ARCHS ?= 75 80 86 90
PLUGIN := $(if $(NVCC),$(if $(SANITIZE),,$(BUILD)/liboocgnn-cuda.so))
CXXFLAGS += -std=c++20 -g $(OPT) -Wall -Wextra -Wshadow $(if $(WERROR),-Werror) -pthread -ffp-contract=off \
            $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
CUDA_BACKEND := $(wildcard harness/tensor/cuda/*.cc)
CUDA_HOST_OBJ := $(CUDA_BACKEND:%.cc=$(BUILD)/host/%.o) \
                 $(patsubst %,$(BUILD)/host/tests/support/%.o,cuda_host cuda_host_device cuda_host_streams cuda_host_ptx)
CUDA_OBJ := $(CUDA_BACKEND:%.cc=$(BUILD)/cuda/%.o) $(patsubst %.cu,$(BUILD)/cuda/%.o,$(wildcard harness/tensor/cuda/*.cu))
# The kernels as nvcc's PTX, which the stand-in executes (tests/gpu/test_gpu_ptx.sh).
CUDA_PTX := $(if $(PLUGIN),$(patsubst harness/tensor/cuda/%.cc,$(BUILD)/ptx/%.ptx,$(shell grep -l GNN_LAUNCH harness/tensor/cuda/*.cc)))
# The same as a plugin, for trying on any machine what runs the program on a GPU. A test device: nothing installs it.
STAND_IN_SRC := $(wildcard tests/support/ptx/*.c) harness/base/err.c harness/base/rng.c harness/base/group_file.c harness/base/own_groups.c harness/base/text_file.c \
                harness/base/thread_limits.c harness/base/units.c harness/tensor/host.c harness/world/simulated/coroutine.c $(wildcard harness/tensor/ref/*.c)
STAND_IN_OBJ := $(CUDA_HOST_OBJ:$(BUILD)/host/%=$(BUILD)/pichost/%) $(BUILD)/pichost/tests/support/cuda_host_plugin.o \
                $(STAND_IN_SRC:%.c=$(BUILD)/pic/%.o)
STAND_IN := $(BUILD)/tests/support/stand_in_cuda.so
# What sums between several of it, in NCCL's place.
STUB_NCCL := $(BUILD)/tests/gpu/stub_nccl.so

.PHONY: FORCE all tests gpu-programs bench-bin found clean setup-build setup-test demo test run-tests test-long faults kills fuzz mutate test-vm test-bare bench bench-peers agree figures test-gpu bench-gpu gpu-bundle install format lint lint-c
.SECONDARY:

all: $(BIN) $(PLUGIN)
tests: gpu-programs $(STUB_NCCL) $(TEST_BIN) $(DOUBLE_TEST_BIN)
tests: $(CUDA_PTX)
gpu-programs: $(BIN) $(PLUGIN) $(STAND_IN) $(GPU_BIN)
bench-bin: $(BIN) $(BENCH_BIN) $(BENCH_CXX)

# The compiler and the libraries are looked for before anything is compiled: "liburing.h: No such file" names no package.
SILENT := $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS))))
found:
	@CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' scripts/setup.sh check build $(if $(filter tests,$(MAKECMDGOALS)),test) \
	    $(if $(SILENT),>/dev/null)

# Inner loops: the tensor back-end, the samplers, generated features and lists are compiled for this machine.
$(BUILD)/harness/tensor/%.o $(BUILD)/harness/sample/%.o $(BUILD)/harness/dataset/features.o $(BUILD)/harness/graph/entries.o $(BUILD)/systems/mariusgnn/dense%.o: OPT := $(OPT) $(FAST_OPT)

$(BUILD)/%.o: %.c | found
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/double/%.o: %.c | found
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DGNN_REAL_DOUBLE $(CFLAGS) -MMD -MP -c $< -o $@

# Text that is compiled in. The revision is looked at on every make and written when it changed. `git archive` writes the
# commit into .revision; in a checkout that file holds a placeholder, and git is asked.
VERSION := $(shell cat VERSION)
REVISION := $(shell sed -n 's/^\([0-9a-f]\{12\}\).*/\1/p' .revision 2>/dev/null)
ifeq ($(REVISION),)
REVISION := $(shell scripts/revision.sh)
endif
$(GEN)/build_revision.h: FORCE
	@mkdir -p $(@D)
	@printf '#define GNN_VERSION "%s"\n#define GNN_BUILD_REVISION "%s"\n#define GNN_BUILD_FLAGS "%s"\n' \
	    '$(VERSION)' '$(REVISION)' '$(strip $(OPT) $(FAST_OPT))' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
$(GEN)/build_libraries.h: FORCE
	@mkdir -p $(@D)
	@printf '#define GNN_HAVE_LIBXSMM %s\n#define GNN_LIBXSMM_VERSION "%s"\n' '$(if $(XSMM),1,0)' '$(XSMM)' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:
$(BUILD)/harness/tensor/cpu/tile_kernels.o $(BUILD)/harness/measure/environment.o: $(GEN)/build_libraries.h
$(BUILD)/harness/measure/environment.o: $(GEN)/build_revision.h

# A text file as the body of a C string.
$(GEN)/%.inc: %
	@mkdir -p $(@D)
	@sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/"/' -e 's/$$/\\n"/' $< > $@
$(BUILD)/harness/record/db.o: $(GEN)/results/schema.sql.inc
$(BUILD)/harness/record/page.o: $(GEN)/page/report.css.inc $(GEN)/page/report.js.inc
$(BUILD)/harness/stats/show.o: $(GEN)/plots/lines.gp.inc
$(BUILD)/harness/cli/plot_ratios.o: $(GEN)/plots/ratios.gp.inc
$(BUILD)/harness/record/styles.o: $(GEN)/plots/figure_series.gp.inc
$(BUILD)/harness/record/plot.o: $(GEN)/plots/grouped_bars.gp.inc $(GEN)/plots/stacked_bars.gp.inc
$(BUILD)/harness/cli/cmd_new_system.o: $(patsubst %,$(GEN)/templates/skeleton/%.inc,skeleton.c Makefile README.md)
$(BUILD)/harness/figure/draw.o: $(patsubst plots/%.gp,$(GEN)/plots/%.gp.inc,$(wildcard plots/figure_*.gp))

$(LIB): $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

# What a system in a shared object may call: the functions and tables that plugin.h and the headers it includes declare.
# Other names stay private, the built-in systems too, so that they replace none of an object's.
PUBLIC_H = $(sort $(filter harness/%.h,$(shell $(CC) $(CPPFLAGS) -MM harness/system/plugin.h)))
$(GEN)/exports.list: $(shell find harness -name '*.h')
	@mkdir -p $(@D)
	@{ echo '{'; cat $(PUBLIC_H) | grep -oE '\bgnn_[a-z0-9_]+' | grep -vx gnn_systems | sort -u | sed 's/$$/;/'; echo '};'; } > $@

$(BIN): $(BUILD)/harness/main.o $(LIB) $(GEN)/exports.list
	$(CC) $(LDFLAGS) -Wl,--dynamic-list=$(GEN)/exports.list -o $@ $(filter %.o,$^) \
	    -Wl,--whole-archive $(LIB) -Wl,--no-whole-archive $(LDLIBS)

$(BUILD)/tests/double/test_%: $(BUILD)/double/tests/double/test_%.o $(DOUBLE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(BUILD)/tests/support/memory_source.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BENCH_CXX): $(BUILD)/%: %.cc | found
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) $(LDFLAGS) -o $@ $<

$(GPU_BIN): $(BUILD)/tests/gpu/%: $(BUILD)/tests/gpu/%.o $(GPU_TEST_OBJ) $(SUPPORT_OBJ) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT_OBJ) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/tests/op/test_cuda_%: LDLIBS += -lstdc++
$(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/op/test_cuda_*.c)): $(CUDA_HOST_OBJ)
$(BUILD)/tests/op/test_cuda_races: $(BUILD)/host/tests/op/cuda_races.o

# ---- CUDA ----

$(BUILD)/host/%.o: %.cc | found
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) -DGNN_CUDA_HOST='"tests/support/cuda_host.h"' $(CXXFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/pichost/%.o: %.cc | found
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) -DGNN_CUDA_HOST='"tests/support/cuda_host.h"' $(CXXFLAGS) -fPIC -MMD -MP -c $< -o $@

# The list of objects is in this file: an older library with fewer of them would lack symbols.
$(BUILD)/tests/support/stand_in_cuda.so: $(STAND_IN_OBJ) Makefile
	@mkdir -p $(@D)
	$(CXX) $(LDFLAGS) -shared $(if $(SANITIZE),,-Wl,-z,defs) -o $@ $(filter %.o,$^) -lm

$(STUB_NCCL): $(BUILD)/pic/tests/gpu/stub_nccl.o
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -shared -o $@ $^

$(BUILD)/pic/%.o: %.c | found
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -c $< -o $@

# Warnings are errors for the host's half of it and for the device's. The device's own -lineinfo names lines in profiles.
NVCCFLAGS = -std=c++20 -O3 -lineinfo -I. -D_GNU_SOURCE $(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$(a),code=sm_$(a)) \
            -gencode arch=compute_$(lastword $(CUDA_ARCHS)),code=compute_$(lastword $(CUDA_ARCHS)) \
            $(if $(WERROR),--Werror all-warnings) -Xcompiler -fPIC,-Wall,-Wextra
# Changes with CUDA_ARCHS, so that make builds the plugin for other devices.
$(BUILD)/cuda/archs: FORCE
	@mkdir -p $(@D)
	@echo '$(CUDA_ARCHS)' | cmp -s - $@ || echo '$(CUDA_ARCHS)' >$@

$(BUILD)/cuda/%.o: %.cu $(BUILD)/cuda/archs | found
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/cuda/%.o: %.cc $(BUILD)/cuda/archs | found
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) -x cu -MMD -MP -c $< -o $@

$(BUILD)/ptx/%.ptx: harness/tensor/cuda/%.cc $(BUILD)/cuda/archs | found
	@mkdir -p $(@D)
	$(NVCC) -std=c++20 -O3 -lineinfo -I. -D_GNU_SOURCE -arch=compute_$(firstword $(CUDA_ARCHS)) -ptx -x cu -MMD -MP -MF $(@:.ptx=.d) $< -o $@

$(BUILD)/liboocgnn-cuda.so: $(CUDA_OBJ) $(BUILD)/pic/harness/base/err.o
	$(NVCC) -shared -cudart static -Xlinker -rpath,'$$ORIGIN/../lib:/usr/local/cuda/lib64' -o $@ $^ -lcublas

# ---- what people type. The second make sees the packages that the first one installed. ----

DATA ?= data

setup-build:
	@scripts/setup.sh build
setup-test:
	@scripts/setup.sh build test

demo:
	@scripts/setup.sh build demo
	@$(MAKE) --no-print-directory -s -j2 all
	@OOCGNN=$(BIN) DATA=$(DATA) scripts/demo.sh

test: setup-test
	@$(MAKE) --no-print-directory -s -j2 tests
	@$(MAKE) --no-print-directory -s run-tests

# Suites that start the program find it here; those that do not multiply with the kernels that it would.
# Sanitizers make a program ten times slower.
run-tests: export OOCGNN := $(BIN)
run-tests: export TEST_CPU_LIMIT_S ?= $(if $(SANITIZE),3000,300)
run-tests: export TEST_LIMIT_S ?= $(if $(SANITIZE),18000,1800)
run-tests:
	@kernels=$${OPENBLAS_CORETYPE:-$$($(BIN) doctor 2>/dev/null | sed -n 's/.* OpenBLAS with the kernels of \([A-Za-z0-9]*\).*/\1/p')}; \
	    [ -z "$$kernels" ] || export OPENBLAS_CORETYPE="$$kernels"; \
	    scripts/run_tests.sh $(BUILD)/logs $(SCRIPT_TESTS) $(TEST_BIN) $(DOUBLE_TEST_BIN)

# A minute for each format is more than the quick suite's limit.
test-long: setup-test
	@$(MAKE) --no-print-directory SANITIZE=address,undefined test
	@$(MAKE) --no-print-directory SANITIZE=thread test
	@TEST_CPU_LIMIT_S=3000 TEST_LIMIT_S=18000 OOCGNN_FUZZ_S=60 OOCGNN_TEST_LONG=1 OOCGNN_TEST_SEED=random $(MAKE) --no-print-directory test

# Campaigns: what the quick suite does a little of.
N ?=
SEED ?= 1
JOBS ?= 1
T ?= 60
faults: setup-test
	@$(MAKE) --no-print-directory -s -j2 $(BUILD)/tests/fault/test_random_faults
	@OOCGNN_FAULTS=$(or $(N),100000) OOCGNN_TEST_SEED=$(SEED) OOCGNN_FAULT_JOBS=$(JOBS) $(BUILD)/tests/fault/test_random_faults

kills: setup-test
	@$(MAKE) --no-print-directory -s -j2 $(BIN) $(BUILD)/tests/cli/test_kills
	@OOCGNN=$(BIN) OOCGNN_KILLS=$(or $(N),1000) OOCGNN_TEST_SEED=$(SEED) $(BUILD)/tests/cli/test_kills

FUZZER := $(BUILD)/tests/fuzz/fuzz_formats
fuzz:
	@scripts/setup.sh build test fuzz
	@$(MAKE) --no-print-directory -s -j2 CC=clang BUILD=build/fuzz SANITIZE=fuzzer-no-link,address,undefined build/fuzz/tests/fuzz/fuzz_formats
	@JOBS=$(JOBS) scripts/fuzz.sh build/fuzz/tests/fuzz/fuzz_formats build/fuzz/work $(T) $(TARGETS)
$(FUZZER): LDLIBS += -fsanitize=fuzzer

# The tool is one of Python's; it has an environment of its own below build/.
MUTATOR := universalmutator==1.14.1
mutate:
	@scripts/setup.sh build test mutate
	@[ -x build/mutate/python/bin/mutate ] || { python3 -m venv build/mutate/python && \
	    build/mutate/python/bin/pip install --quiet --disable-pip-version-check --no-deps $(MUTATOR); }
	@build/mutate/python/bin/python scripts/mutate.py $(MUTATE)

# Skipped, with a message, where qemu and the others cannot be had.
test-vm: setup-test
	@scripts/setup.sh vm || true
	@MAKE='$(MAKE)' scripts/vm/run.sh $(VM)

# Needs root.
test-bare:
	@scripts/setup.sh bare
	@scripts/bare.sh $(BARE)

bench:
	@scripts/setup.sh build bench
	@$(MAKE) --no-print-directory -s -j2 bench-bin
	@OOCGNN=$(BIN) BENCH=$(BUILD)/tests/bench DATA=$(DATA) scripts/bench.sh

# Skipped, with a message, where no index answers.
PEERS ?=
bench-peers:
	@scripts/setup.sh build bench peers
	@$(MAKE) --no-print-directory -s -j2 bench-bin
	@OOCGNN=$(BIN) BENCH=$(BUILD)/tests/bench DATA=$(DATA) PEERS_ASKED='$(PEERS)' scripts/bench_peers.sh $(PEERS)

test-gpu bench-gpu: setup-test
	@$(MAKE) --no-print-directory -s -j2 tests
	@OOCGNN=$(BIN) scripts/gpu_check.sh --only $(@:%-gpu=%) --limit 480 --report $(BUILD)/$@.json

# For a machine that reaches no network: its processor is not this one.
gpu-bundle: setup-test
	@[ -n '$(NVCC)' ] || { echo 'gpu-bundle: no nvcc here, so there is no plugin to pack' >&2; exit 4; }
	@$(MAKE) --no-print-directory -s -j2 BUILD=build/bundle ARCH=x86-64-v3 gpu-programs
	@scripts/gpu_bundle.sh build/bundle build/gpu-bundle

agree:
	@scripts/setup.sh build bench
	@$(MAKE) --no-print-directory -s -j2 all
	@find "$${XDG_DATA_HOME:-$$HOME/.local/share}/oocgnn/this.ini" -mtime -1 2>/dev/null | grep -q . || \
	    $(BIN) calibrate --device $(dir $(abspath $(DATA)))
	@$(BIN) figure agree agree-sampling agree-readahead --data $(DATA) --db $(BUILD)/agree.db --out $(BUILD)/agree $(AGREE)
	@! grep -l 'DOES NOT HOLD' $(BUILD)/agree/agree*.md

# Budget on two cores: docs/figures.md. A command that fails does not keep the others from running.
FIGURES ?= build/figures
FIGURE = $(BIN) figure --jobs $(JOBS) --db $(FIGURES)/figures.db --data $(DATA) --out $(FIGURES) \
         --ratios results/data/ratios.csv --findings results/data/findings.csv
figures: JOBS = 2
figures:
	@scripts/setup.sh build bench
	@$(MAKE) --no-print-directory -s -j2 all
	@mkdir -p $(FIGURES)
	-@$(FIGURE) --all --method simulated
	-@$(FIGURE) --all --papers --variants ideal --method simulated
	@$(FIGURE) gnndrive-fig8 --scale 1 --fix dataset=papers100m --fix dim=128 --variants node-order \
	    --method 'simulated scale 1'
	@$(FIGURE) --all --check --method simulated

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/oocgnn $(DESTDIR)$(PREFIX)/share/doc/oocgnn
	install -m 755 $(BIN) $(PLUGIN) $(DESTDIR)$(PREFIX)/bin/
	install -m 644 README.md LICENSE CITATION.cff $(DESTDIR)$(PREFIX)/share/doc/oocgnn/
	install -d $(addprefix $(DESTDIR)$(PREFIX)/share/,man/man1 bash-completion/completions zsh/site-functions)
	$(BIN) manual > $(DESTDIR)$(PREFIX)/share/man/man1/oocgnn.1
	$(BIN) completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/oocgnn
	$(BIN) completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_oocgnn
	install -m 644 $(wildcard workloads/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/
	install -d $(DESTDIR)$(PREFIX)/share/oocgnn/presets
	install -m 644 $(wildcard workloads/presets/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/presets/
	install -d $(DESTDIR)$(PREFIX)/share/oocgnn/gate/gpu
	install -m 644 $(wildcard workloads/gate/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/gate/
	install -m 644 $(wildcard workloads/gate/gpu/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/gate/gpu/
	install -d $(DESTDIR)$(PREFIX)/share/oocgnn/figures/common $(DESTDIR)$(PREFIX)/share/oocgnn/published
	install -m 644 $(wildcard experiments/papers/*.ini experiments/project/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/figures/
	install -m 644 $(wildcard experiments/p*/common/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/figures/common/
	install -d $(DESTDIR)$(PREFIX)/share/oocgnn/variants/common
	install -m 644 $(wildcard experiments/variants/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/variants/
	install -m 644 $(wildcard experiments/variants/common/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/variants/common/
	install -m 644 $(wildcard results/published/*.csv) $(DESTDIR)$(PREFIX)/share/oocgnn/published/
	install -d $(DESTDIR)$(PREFIX)/share/oocgnn/hardware/costs
	install -m 644 $(wildcard workloads/hardware/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/hardware/
	install -m 644 $(wildcard workloads/hardware/costs/*.ini) $(DESTDIR)$(PREFIX)/share/oocgnn/hardware/costs/

# What is needed to build a system outside the tree: the public headers in their folders, their place, and a skeleton.
	install -d $(DESTDIR)$(PREFIX)/share/pkgconfig $(DESTDIR)$(PREFIX)/share/oocgnn/skeleton
	for header in $(PUBLIC_H); do install -D -m 644 $$header $(DESTDIR)$(PREFIX)/include/oocgnn/$$header || exit 1; done
	install -m 644 $(wildcard templates/skeleton/*) $(DESTDIR)$(PREFIX)/share/oocgnn/skeleton/
	printf '%s\n' 'prefix=$(abspath $(PREFIX))' 'includedir=$${prefix}/include/oocgnn' \
	    'moduledir=$${prefix}/lib/oocgnn/systems' '' 'Name: oocgnn' 'Description: systems for out-of-core GNN training' \
	    'Version: $(VERSION)' 'Cflags: -I$${includedir} -D_GNU_SOURCE' > $(DESTDIR)$(PREFIX)/share/pkgconfig/oocgnn.pc

C_FILES := $(shell git ls-files '*.c' '*.h' '*.cc' '*.cu' 2>/dev/null)

format:
	@scripts/setup.sh lint
	@clang-format -i $(C_FILES)

# Everything builds under clang with -Werror, then the checkers read it. What clang-tidy passed is not read again until
# it, or a header it includes, changes. One file a call: over several, version 14 carries analysis state along.
lint:
	@scripts/setup.sh build test lint
	@$(MAKE) --no-print-directory -s -j2 CC=clang WERROR=1 tests bench-bin
	shellcheck -x scripts/*.sh scripts/vm/*.sh scripts/slurm/*.sh tests/style/*.sh tests/gpu/*.sh tests/slurm/*.sh tests/plugin/*.sh tests/support/*.sh .ci/run
	@$(MAKE) --no-print-directory -s -j2 CC=clang lint-c

TIDY := $(LIB_SRC:%.c=$(BUILD)/%.tidy) $(BUILD)/harness/main.tidy
lint-c: $(TIDY)
	cppcheck --quiet --std=c17 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 \
	    --suppress=missingIncludeSystem -I. -I$(GEN) -D_GNU_SOURCE harness systems

$(BUILD)/%.tidy: %.c .clang-tidy $(BUILD)/%.o
	clang-tidy --quiet --warnings-as-errors='*' $< -- $(CPPFLAGS) -std=c17 2>/dev/null
	@touch $@

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
