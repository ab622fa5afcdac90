# oocgnn: see README.md. Objects go to $(BUILD); nothing is written elsewhere.
SHELL := /bin/bash
.DEFAULT_GOAL := all

ifeq ($(origin CC),default)
CC := gcc
endif
ARCH ?= native
SANITIZE ?=
WERROR ?=
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build/$(notdir $(CC))$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))
comma := ,

PACKAGES := liburing sqlite3 openblas inih jansson libxxhash zlib libcgroup
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wvla \
        -Wpointer-arith -Wundef $(if $(WERROR),-Werror)
OPT ?= $(if $(SANITIZE),-O1 -fno-omit-frame-pointer,-O2)
FAST_OPT ?= $(if $(SANITIZE),,-O3 -march=$(ARCH))
CPPFLAGS += -I. -D_GNU_SOURCE $(shell pkg-config --cflags $(PACKAGES) 2>/dev/null)
CFLAGS += -std=c17 -g $(OPT) $(WARN) -pthread -ffp-contract=off $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all)
LDFLAGS += -pthread $(if $(SANITIZE),-fsanitize=$(SANITIZE))
LDLIBS += $(shell pkg-config --libs $(PACKAGES) 2>/dev/null) -lm -ldl

LIB_SRC := $(filter-out harness/main.c,$(wildcard harness/*.c harness/*/*.c harness/*/*/*.c systems/*.c systems/*/*.c workloads/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
LIB := $(BUILD)/liboocgnn.a
BIN := $(BUILD)/oocgnn

# The arithmetic a second time in double precision, for finite differences.
DOUBLE_SRC := $(wildcard harness/base/*.c harness/model/*.c harness/tensor/*.c harness/tensor/ref/*.c)
DOUBLE_OBJ := $(DOUBLE_SRC:%.c=$(BUILD)/double/%.o)

TEST_SRC := $(wildcard tests/unit/test_*.c tests/op/test_*.c tests/golden/test_*.c tests/differential/test_*.c \
              tests/fault/test_*.c tests/cli/test_*.c tests/fuzz/test_*.c)
TEST_BIN := $(TEST_SRC:%.c=$(BUILD)/%)
DOUBLE_TEST_SRC := $(wildcard tests/double/test_*.c)
DOUBLE_TEST_BIN := $(DOUBLE_TEST_SRC:%.c=$(BUILD)/%)
SUPPORT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support/*.c))
BENCH_BIN := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/bench/bench_*.c))

.PHONY: all tests bench-bin clean
.SECONDARY:

all: $(BIN)
tests: $(BIN) $(TEST_BIN) $(DOUBLE_TEST_BIN)
bench-bin: $(BIN) $(BENCH_BIN)

# Inner loops: the tensor back-end and the sampler are compiled for this machine.
$(BUILD)/harness/tensor/%.o $(BUILD)/harness/sample/%.o: OPT := $(OPT) $(FAST_OPT)

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/double/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -DGNN_REAL_DOUBLE $(CFLAGS) -MMD -MP -c $< -o $@

$(LIB): $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	ar rcs $@ $^

$(BIN): $(BUILD)/harness/main.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/double/test_%: $(BUILD)/double/tests/double/test_%.o $(DOUBLE_OBJ)
	@mkdir -p $(@D)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(SUPPORT_OBJ) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT_OBJ) $(LIB)
	$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS) -lcmocka

clean:
	rm -rf build

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
