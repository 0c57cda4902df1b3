# SPDX-License-Identifier: GPL-2.0-or-later
# Included by the Makefile. make fuzz: the fuzzers, in build-fuzz/ (clang, libclang-rt-*-dev).
# make replay: the same with a main of its own, in build/, sanitized and without libFuzzer; and rows,
# which prints what a cursor reads. frames, programs: what is read of users' programs. addresses: what a browser sends.
# texts: cgroups' names, /proc, configuration, rules, journals, what Slurm's commands print. messages: jobprofd's socket,
# and results of confined readers.
FUZZ_B   := build-fuzz
FUZZ_CC  := $(CLANG)
FUZZ_OPT := -O1 -g -U_FORTIFY_SOURCE -fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined
FUZZ_LIB := $(wildcard $(foreach r,base base/* schema identity unwind journal hdf5 pool jobfile jobfile/* model model/* analysis analysis/* findings view view/*,user/$(r)/*.c)) \
	$(addprefix user/cmd/jobprof/,show.c select_args.c input_args.c)
FUZZ_OBJ := $(FUZZ_LIB:%.c=$(FUZZ_B)/%.o)
FUZZ_DATA := -DFUZZ_DATA='"$(CURDIR)/tests/data"'
# Those whose first byte says what they are (input.h). What they define in the place of what is not there comes first.
FUZZ_INPUTS := texts messages programs
FUZZ_HTTP := user/http/request.c $(wildcard user/base/*.c)
FUZZ_HARNESS := reader.o tools.o tools_merge.o tools_report.o tools_plot.o libfault.o
REPLAY_B := build/fuzz
REPLAY_LIB := $(FUZZ_LIB:%.c=$(REPLAY_B)/%.o)
REPLAY_OBJ := $(addprefix $(REPLAY_B)/tests/fuzz/,$(FUZZ_HARNESS) h5mutate.o replay.o)
FUZZ_LIBS := $(H5_LIBS) -ldeflate -ljansson -lcap -lseccomp -lz -lfftw3 $(LUA_LIBS) -lm -ldw -lelf -lstdc++
FUZZ_ALL_LIBS := -Wl,--allow-multiple-definition $(FUZZ_LIBS) -lsqlite3 -lbpf

.PHONY: fuzz replay
fuzz: $(FUZZ_B)/reader $(FUZZ_B)/structure $(FUZZ_B)/frames $(FUZZ_B)/addresses $(FUZZ_INPUTS:%=$(FUZZ_B)/%)
replay: $(REPLAY_B)/replay $(REPLAY_B)/rows $(REPLAY_B)/replay_frames $(REPLAY_B)/replay_addresses $(FUZZ_INPUTS:%=$(REPLAY_B)/replay_%)

-include $(wildcard $(foreach b,$(FUZZ_B) $(REPLAY_B),$(b)/*/*/*.d $(b)/*/*/*/*.d))

$(FUZZ_B)/%.o: %.c
	$(call msg,FUZZ-CC,$@)
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(CPPFLAGS) $(FUZZ_DATA) -D__SANITIZE_ADDRESS__ -std=gnu11 -Wno-unknown-attributes -Wno-incompatible-pointer-types $(FUZZ_OPT) -fsanitize=fuzzer-no-link $(H5_CFLAGS) $(LUA_CFLAGS) -MMD -MP -c $< -o $@
$(FUZZ_B)/reader: $(FUZZ_OBJ) $(addprefix $(FUZZ_B)/tests/fuzz/,$(FUZZ_HARNESS))
	$(call msg,LINK,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_OPT) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LIBS)
$(FUZZ_B)/structure: $(FUZZ_OBJ) $(addprefix $(FUZZ_B)/tests/fuzz/,$(FUZZ_HARNESS) h5mutate.o structure.o)
	$(call msg,LINK,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_OPT) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LIBS)
$(FUZZ_B)/frames: $(FUZZ_OBJ) $(FUZZ_B)/tests/fuzz/frames.o
	$(call msg,LINK,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_OPT) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LIBS)
$(FUZZ_INPUTS:%=$(FUZZ_B)/%): $(FUZZ_B)/%: $(FUZZ_B)/tests/fuzz/%.o $(FUZZ_B)/tests/fuzz/input.o $(FUZZ_B)/libjp.a
	$(call msg,LINK,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_OPT) -fsanitize=fuzzer -o $@ $^ $(FUZZ_ALL_LIBS)
$(FUZZ_B)/libjp.a: $(LIB_SRC:%.c=$(FUZZ_B)/%.o)
$(REPLAY_B)/libjp.a: $(LIB_SRC:%.c=$(REPLAY_B)/%.o)
$(FUZZ_B)/user/kern/open.o $(REPLAY_B)/user/kern/open.o: $(SKEL)
$(FUZZ_B)/libjp.a $(REPLAY_B)/libjp.a:
	$(call msg,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^
$(FUZZ_B)/addresses: $(FUZZ_HTTP:%.c=$(FUZZ_B)/%.o) $(FUZZ_B)/tests/fuzz/addresses.o
	$(call msg,LINK,$@)
	$(Q)$(FUZZ_CC) $(FUZZ_OPT) -fsanitize=fuzzer -o $@ $^ $(FUZZ_LIBS)

$(REPLAY_B)/%.o: %.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(FUZZ_DATA) $(CFLAGS) $(FUZZ_OPT) $(H5_CFLAGS) $(LUA_CFLAGS) -MMD -MP -c $< -o $@
$(REPLAY_B)/rows: $(REPLAY_B)/tests/fuzz/rows.o
$(REPLAY_B)/replay: $(REPLAY_OBJ)
$(REPLAY_B)/replay_frames: $(addprefix $(REPLAY_B)/tests/fuzz/,frames.o replay_frames.o)
$(REPLAY_B)/replay $(REPLAY_B)/rows $(REPLAY_B)/replay_frames: $(REPLAY_LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FUZZ_OPT) -o $@ $^ $(FUZZ_LIBS)
$(REPLAY_B)/replay_addresses: $(FUZZ_HTTP:%.c=$(REPLAY_B)/%.o) $(addprefix $(REPLAY_B)/tests/fuzz/,addresses.o replay_addresses.o)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FUZZ_OPT) -o $@ $^ $(FUZZ_LIBS)
$(FUZZ_INPUTS:%=$(REPLAY_B)/replay_%): $(REPLAY_B)/replay_%: $(addprefix $(REPLAY_B)/tests/fuzz/,%.o input.o replay_inputs.o) $(REPLAY_B)/libjp.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(FUZZ_OPT) -o $@ $^ $(FUZZ_ALL_LIBS)

# Whether these still compile and link, with jobprof's own objects: nothing is made twice.
LINKS := replay rows replay_frames replay_addresses
.PHONY: fuzz-links
fuzz-links: $(LINKS:%=$(B)/tests/fuzz/%.links) $(FUZZ_INPUTS:%=$(B)/tests/fuzz/replay_%.links)
$(B)/tests/fuzz/replay.links: $(REPLAY_OBJ:$(REPLAY_B)/%=$(B)/%)
$(B)/tests/fuzz/rows.links: $(B)/tests/fuzz/rows.o
$(B)/tests/fuzz/replay_frames.links: $(B)/tests/fuzz/frames.o $(B)/tests/fuzz/replay_frames.o
$(FUZZ_INPUTS:%=$(B)/tests/fuzz/replay_%.links): $(B)/tests/fuzz/replay_%.links: $(addprefix $(B)/tests/fuzz/,%.o input.o replay_inputs.o) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) -fsanitize=address -o $@ $^ $(FUZZ_ALL_LIBS)
$(B)/tests/fuzz/replay_addresses.links: $(addprefix $(B)/tests/fuzz/,addresses.o replay_addresses.o) $(B)/user/http/request.o
$(LINKS:%=$(B)/tests/fuzz/%.links): $(FUZZ_LIB:%.c=$(B)/%.o)
	$(call msg,LINK,$@)
	$(Q)$(CC) -fsanitize=address -o $@ $^ $(FUZZ_LIBS)
$(B)/tests/fuzz/%.o: tests/fuzz/%.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(FUZZ_DATA) $(CFLAGS) $(H5_CFLAGS) $(LUA_CFLAGS) -MMD -MP -c $< -o $@
