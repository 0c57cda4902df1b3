# "make help" lists the targets.
VERSION := 0.1.0
PREFIX  ?= /usr/local
$(if $(filter /%,$(PREFIX)),,$(error PREFIX=$(PREFIX) is no absolute path))
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
LIBDIR ?= $(PREFIX)/lib
V ?= 0
SAN ?= 0
COV ?= 0
CC = gcc
OBJCOPY ?= $(shell $(CC) -print-prog-name=objcopy)
PKG_CONFIG ?= pkg-config
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
LLVM_STRIP ?= llvm-strip

ifeq ($(V),1)
Q =
msg =
else
Q = @
msg = @printf '  %-8s %s\n' "$(1)" "$(2)"
endif

B := build
# Of a package that sets its own level of fortification, ours is the one that counts: two would warn.
OPT := -O2 -g -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
ifeq ($(SAN),1)
B := build-san
OPT := -O1 -g -fsanitize=address,undefined -fno-omit-frame-pointer
endif
ifeq ($(COV),1)
B := build-cov
OPT := -O0 -g --coverage
endif

# For whom the compiler makes programs: x86_64-linux-gnu, aarch64-linux-gnu. "=" is its sysroot.
TARGET := $(shell $(CC) -dumpmachine)
# Types and functions as of HDF5 1.10, of later releases too.
H5_CFLAGS := -DH5_USE_110_API $(shell $(PKG_CONFIG) --cflags hdf5 2>/dev/null || echo -I=/usr/include/hdf5/serial)
H5_LIBS   := $(shell $(PKG_CONFIG) --libs hdf5 2>/dev/null || echo -L=/usr/lib/$(TARGET)/hdf5/serial -lhdf5)
# Debian's shared library of HDF5 brings 25 others along (curl, Kerberos, LDAP): loading them takes
# 20 ms. The programs are linked with HDF5's archive where that links; H5_STATIC=0 takes the shared
# library, and so does SAN=1: the tests' suppressions name it.
H5_STATIC ?= $(if $(filter 1,$(SAN) $(COV)),0,1)
H5_ARCHIVE = $(H5_LIBS:-lhdf5=-Wl,-Bstatic -lhdf5 -Wl,-Bdynamic -Wl,--as-needed -lsz -lz -ldl -lm)
find_h5    = $(shell echo 'int H5open(void); int main(void) { return H5open(); }' | \
	$(CC) $(LDFLAGS) -x c - -o /dev/null -pthread $(H5_ARCHIVE) 2>/dev/null && \
	echo '$(H5_ARCHIVE)' || echo '$(H5_LIBS)')
# Once, when something is linked.
H5_PROGRAM_LIBS = $(eval H5_PROGRAM_LIBS := $(if $(filter 1,$(H5_STATIC)),$(find_h5),$(H5_LIBS)))$(H5_PROGRAM_LIBS)
# Debian's is lua5.4, that of EL 9 lua.
LUA = $(shell $(PKG_CONFIG) $(1) lua5.4 2>/dev/null || $(PKG_CONFIG) $(1) 'lua >= 5.4' 2>/dev/null || echo $(2))
LUA_CFLAGS := $(call LUA,--cflags,-I=/usr/include/lua5.4)
LUA_LIBS := $(call LUA,--libs,-llua5.4)
# With fortification (OPT) and the linker's, what Debian's hardening=+all has; of both processors one has each kind of the last.
HARDENED := -fstack-protector-strong -fstack-clash-protection -Wformat -Werror=format-security \
	$(if $(filter x86_64%,$(TARGET)),-fcf-protection)$(if $(filter aarch64%,$(TARGET)),-mbranch-protection=standard)
CPPFLAGS += -D_GNU_SOURCE -DJOBPROF_VERSION='"$(VERSION)"' -DJOBPROF_SYSCONFDIR='"$(SYSCONFDIR)"' -I. -Iuser -I$(B)
CFLAGS ?=
# Packages leave it empty: a compiler that we do not know may warn of more.
WERROR ?= -Werror
CFLAGS += -std=gnu11 $(OPT) -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wno-unused-parameter -fno-strict-aliasing $(HARDENED) -fPIE
# The last of -pie and -shared counts: rules name theirs behind these.
LDFLAGS += -pie -Wl,-z,relro,-z,now $(if $(filter 1,$(SAN)),-fsanitize=address$(comma)undefined) \
	$(if $(filter 1,$(COV)),--coverage)
comma := ,

BPF_ARCH := $(shell echo $(firstword $(subst -, ,$(TARGET))) | sed 's/x86_64/x86/;s/aarch64/arm64/;s/ppc64le/powerpc/')
BPF_CFLAGS := -g -O2 -ffile-prefix-map=$(CURDIR)=. -target bpf -mcpu=v3 -D__TARGET_ARCH_$(BPF_ARCH) -Iskel -I. -Wall $(WERROR) \
	-Wno-missing-declarations

# Definitions first, iterators last: the linker of libbpf 1.1 loses an extern map that only a callback
# of the first user object refers to.
BPF_FIRST := bpf/maps.bpf.c bpf/sched.bpf.c bpf/life.bpf.c
BPF_SRC  := $(BPF_FIRST) $(filter-out $(BPF_FIRST),$(wildcard bpf/*.bpf.c))
BPF_OBJ  := $(BPF_SRC:bpf/%.bpf.c=$(B)/bpf/%.bpf.o)
# In the build directory: each one is whole in itself.
SKEL     := $(B)/skel/jobprof.skel.h
# What needs Slurm's headers is in the plugins only (user/slurm/slurm.mk).
LIB_SRC  := $(filter-out user/cmd/% user/slurm/%_jobprof.c,$(wildcard user/*/*.c user/*/*/*.c))
LIB_OBJ  := $(LIB_SRC:%.c=$(B)/%.o)
LIB      := $(B)/libjp.a
VERB_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard user/cmd/jobprof/*.c user/cmd/jobprof/*/*.c user/cmd/sh5util/*.c))
PROGRAMS := $(addprefix $(B)/,jobprofd jobprof-writer jobprof-dump jobprof)
# Where Open MPI's compiler is: what `jobprof reduce` becomes when mpirun or srun starts several.
MPICC ?= $(firstword $(shell command -v mpicc.openmpi || command -v mpicc) $(wildcard /usr/lib64/openmpi/bin/mpicc))
MPI_CFLAGS = $(shell $(MPICC) --showme:compile 2>/dev/null)
MPI_LIBS := $(if $(MPICC),$(shell $(MPICC) --showme:link 2>/dev/null))
PROGRAMS += $(if $(strip $(MPI_LIBS)),$(B)/jobprof-reduce-mpi)
UNIT     := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(wildcard tests/unit/test_*.c))
TOOLS    := $(patsubst tests/tools/%.c,$(B)/tests/tools/%,$(wildcard tests/tools/*.c))
CASE_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/analysis/*.c))
BENCH    := $(addprefix $(B)/bench/,jpbench jpfiles jph5size jprusage jpsensors jpwork)
MAN      := $(wildcard man/*.[1-8]) $(B)/man/jobprof-metrics.7

.PHONY: FORCE all help docs test check-bpf format lint lint-flags check-tidy coverage install uninstall clean tools bench
.DELETE_ON_ERROR:
.SECONDARY:
# jobprof by other names: Slurm's, and of slurm.conf's MailProg, which takes no arguments.
NAMES := $(addprefix $(B)/,sh5util seff jobprof-mail)
COMPLETED := $(addprefix $(B)/completion/,jobprof jobprofd jobprof-dump)
all: $(PROGRAMS) $(COMPLETED) $(NAMES) $(B)/man/jobprof-metrics.7
help:
	@echo 'make                the programs, in build/'
	@echo 'make install        as root; PREFIX=$(PREFIX), SYSCONFDIR=$(SYSCONFDIR), DESTDIR= for packages'
	@echo 'make uninstall      removes what "make install" with the same PREFIX and SLURM installs; your settings stay'
	@echo 'make slurm          the plugins of Slurm only, in build/slurm-RELEASE/; make install-slurm, uninstall-slurm, as root'
	@echo 'make deb rpm        packages, in build/deb/ and build/rpm/; needs scripts/install-deps build page package'
	@echo 'make tools          what tests and scripts/testbed need'
	@echo 'make docs           docs/columns.md, from schemas/'
	@echo 'make test           unit tests, without privileges; scripts/test, as root, runs every test'
	@echo 'make check-bpf      as root: loads every BPF program and prints what the verifier counted'
	@echo 'make lint format    every check of scripts/lint on all files; clang-format'
	@echo 'make check-tidy     clang-tidy on all files'
	@echo 'make coverage       the lines of each room that unit tests execute; see scripts/coverage'
	@echo 'make clean'
	@echo
	@echo 'PREFIX and SYSCONFDIR are in the programs too: give the same ones to "make" and "make install".'
	@echo 'V=1 shows the commands. SAN=1 builds with sanitizers, in build-san/. H5_STATIC=0 links'
	@echo 'the shared HDF5. SLURM=PREFIX is the Slurm that the plugins are for, where it is not the one whose headers'
	@echo 'the compiler finds; SLURM_PLUGINDIR=DIR takes them, else the directory where that Slurm has its own.'
tools: $(TOOLS) $(B)/tests/analysis-case $(B)/tests/judge $(B)/tests/stub/cgself.so $(B)/tests/stub/nss_jptest.so
bench: $(BENCH)

-include $(filter-out $(B)/vm/%,$(wildcard $(B)/*/*.d $(B)/*/*/*.d $(B)/*/*/*/*.d $(B)/*/*/*/*/*.d $(B)/pic/*/*/*.d \
	$(B)/pic/*/*/*/*.d))

$(B)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call msg,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@

$(B)/bpf/jobprof.o: $(BPF_OBJ)
	$(call msg,LINK-BPF,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKEL): $(B)/bpf/jobprof.o
	$(call msg,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name jobprof > $@

$(B)/user/kern/open.o: $(SKEL)

# Who may include hdf5.h.
H5_ROOMS := user/hdf5 user/pool user/jobfile user/model user/cmd tests/unit bench

$(B)/%.o: %.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(if $(filter $(addsuffix /%,$(H5_ROOMS)),$<),$(H5_CFLAGS)) \
		$(if $(filter user/findings/%,$<),$(LUA_CFLAGS)) -MMD -MP -c $< -o $@
# The assembler includes them.
$(B)/user/findings/rules_text.o: $(wildcard user/findings/*.lua)

# For shared objects, where nothing but what a map names is seen from outside.
$(B)/pic/%.o: %.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -MMD -MP -c $< -o $@

$(LIB): $(LIB_OBJ)
	$(call msg,AR,$@)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# libdw is for the room unwind, libseccomp for the room pool.
BPF_LIBS := -lbpf -Wl,--as-needed -ldw -lseccomp -Wl,--no-as-needed -lelf -lz -ldeflate
# What the room model needs to name functions: libdw, and the C++ runtime's demangler.
SYMBOL_LIBS := -Wl,--as-needed -ldw -lelf -lstdc++
# What the room analysis needs, for programs that compute.
ANALYSIS_LIBS := -Wl,--as-needed -lfftw3 -lm
# What the room findings needs.
FINDINGS_LIBS := -Wl,--as-needed $(LUA_LIBS) -lm
$(B)/jobprofd: $(patsubst %.c,$(B)/%.o,$(wildcard user/cmd/jobprofd/*.c)) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BPF_LIBS) -lcap -lsystemd -lm
DUMP_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard user/cmd/dump/*.c))
$(B)/jobprof-dump: $(DUMP_OBJ) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BPF_LIBS) -ljansson -lm
# Whoever runs a program that is not readable cannot trace it. The leak sanitizer must.
UNREADABLE = $(if $(filter 1,$(SAN)),,chmod 711 $@)
$(B)/jobprof-writer: $(B)/user/cmd/writer/writer.o $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(H5_PROGRAM_LIBS) -lseccomp -lz -ldeflate -lcap -lm
	$(Q)$(UNREADABLE)
JOBPROF_LIBS = $(H5_PROGRAM_LIBS) $(BPF_LIBS) -ljansson -lcap $(ANALYSIS_LIBS) $(FINDINGS_LIBS) $(SYMBOL_LIBS) -lsqlite3
$(B)/jobprof: $(VERB_OBJ) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(JOBPROF_LIBS)
	$(Q)$(UNREADABLE)

$(B)/user/cmd/reduce_mpi/%.o: user/cmd/reduce_mpi/%.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(H5_CFLAGS) $(MPI_CFLAGS:-I%=-isystem %) -MMD -MP -c $< -o $@
$(B)/jobprof-reduce-mpi: $(B)/user/cmd/reduce_mpi/reduce_mpi.o $(filter-out %/jobprof.o,$(VERB_OBJ)) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(JOBPROF_LIBS) $(MPI_LIBS)
	$(Q)$(UNREADABLE)

$(NAMES): $(B)/jobprof
	$(call msg,LN,$@)
	$(Q)ln -sf jobprof $@

# From the tables of options.
$(B)/completion/jobprof: $(B)/jobprof
$(B)/completion/jobprofd: $(B)/jobprofd
$(B)/completion/jobprof-dump: $(B)/jobprof-dump
$(COMPLETED):
	$(call msg,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$< --completion > $@

$(B)/man/jobprof-metrics.7: $(B)/jobprof
	$(call msg,MAN,$@)
	@mkdir -p $(@D)
	$(Q)$(B)/jobprof list --man > $@

docs: $(B)/jobprof
	$(call msg,GEN,docs/columns.md)
	$(Q)scripts/columns $< > $(B)/columns.md
	$(Q)mv $(B)/columns.md docs/columns.md

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(BPF_LIBS) $(H5_LIBS) -ljansson -lcap $(ANALYSIS_LIBS) $(FINDINGS_LIBS) $(SYMBOL_LIBS) -lsqlite3
$(B)/tests/analysis-case: $(CASE_OBJ) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -ljansson $(ANALYSIS_LIBS)
$(B)/tests/judge: $(B)/tests/findings/judge.o $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -ljansson $(FINDINGS_LIBS)
$(B)/tests/tools/%: tests/tools/%.c $(wildcard tests/tools/*.h)
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< -lpthread -lm
$(B)/tests/tools/jpphases $(B)/tests/tools/jpburst: $(B)/tests/tools/%: tests/tools/%.c $(B)/libjobprof.a
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lpthread -lm
$(B)/tests/tools/jpenergy: $(patsubst %.c,$(B)/%.o,tests/tools/jpenergy.c $(wildcard tests/energysim/*.c)) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lm

$(B)/tests/%.so: tests/%.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -fPIC -shared -o $@ $<

$(B)/bench/jpbench: $(addprefix $(B)/bench/,jpbench.o worker.o workload.o) $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(BPF_LIBS) -lm
$(B)/bench/jpfiles: $(B)/bench/jpfiles.o $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(H5_LIBS) -ldeflate -lz -lm
$(B)/bench/jpsensors: $(B)/bench/jpsensors.o $(LIB)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lm
$(B)/bench/%: $(B)/bench/%.o
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(H5_LIBS)

# With make -j several run at the same time.
RUNS := $(addsuffix .run,$(UNIT))
.PHONY: $(RUNS)
test: $(RUNS)
$(RUNS): %.run: %
	$(Q)$<

include tests/fuzz/fuzz.mk tests/stub/stub.mk
include user/client/lib.mk user/slurm/slurm.mk user/sensor/plugin/plugin.mk web/web.mk

# What is made with another version or other directories than those of this call is made again.
TOLD := $(shell grep -lE "JOBPROF_(VERSION|SYSCONFDIR|SENSORDIR)|PLUGINS_DIR" user/*/*.c user/*/*/*.c user/*/*/*/*.c)
$(foreach b,$(B) $(B)/pic $(SLURM_B),$(TOLD:%.c=$(b)/%.o)): $(B)/told
$(B)/told: FORCE
	@mkdir -p $(@D)
	@said='$(VERSION) $(SYSCONFDIR) $(SENSORDIR)'; [ "$$(cat $@ 2>/dev/null)" = "$$said" ] || echo "$$said" >$@

check-bpf: $(B)/jobprofd
	$(Q)$(B)/jobprofd --check-bpf

format:
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h' | grep -v '^skel/')

# On files that were changed: scripts/lint.
lint:
	$(Q)scripts/lint --all
coverage:
	$(Q)scripts/coverage
check-tidy:
	$(Q)scripts/lint --all --only tidy
# For scripts/lint: how user/ is compiled, and what cannot be without headers of Slurm or of MPI.
lint-flags: $(SKEL)
	$(info $(CPPFLAGS) -Iuser/sensor/plugin $(H5_CFLAGS) $(LUA_CFLAGS) $(SLURM_FLAGS) $(MPI_CFLAGS:-I%=-isystem %) -std=gnu11)
	$(info unseen:$(if $(SLURM_NUMBER),,user/slurm/.*_jobprof\.c)$(if $(MPI_LIBS),,|user/cmd/reduce_mpi/.*))

.PHONY: deb rpm
deb rpm:
	$(Q)scripts/package $@

# true: only the names are wanted, of what may or may not have been built.
UNINSTALLS := false
install: all
	install -d $(DESTDIR)$(PREFIX)/sbin $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/jobprof \
		$(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSCONFDIR)/jobprof
	install -m 755 $(B)/jobprofd $(B)/jobprof-dump $(DESTDIR)$(PREFIX)/sbin
	install -m 711 $(B)/jobprof $(DESTDIR)$(PREFIX)/bin
	install -m 711 $(B)/jobprof-writer $(DESTDIR)$(PREFIX)/libexec/jobprof
	if [ -f $(B)/jobprof-reduce-mpi ] || $(UNINSTALLS); then install -m 711 $(B)/jobprof-reduce-mpi $(DESTDIR)$(PREFIX)/libexec/jobprof; fi
	for n in $(notdir $(NAMES)); do ln -sf ../../bin/jobprof $(DESTDIR)$(PREFIX)/libexec/jobprof/$$n; done
	for m in $(MAN); do d=$(DESTDIR)$(PREFIX)/share/man/man$${m##*.}; install -d $$d && install -m 644 $$m $$d; done
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	install -d $(DESTDIR)$(PREFIX)/share/jobprof
	install -m 644 user/findings/rules.lua $(DESTDIR)$(PREFIX)/share/jobprof
	d=$(DESTDIR)$(PREFIX)/share/jobprof/metrics; install -d $$d && install -m 644 conf/metrics/rules.yml conf/metrics/grafana.json $$d
	if [ -f $(PAGE) ] || $(UNINSTALLS); then install -m 644 $(PAGE) $(addprefix $(dir $(PAGE))site.,html js css) $(DESTDIR)$(PREFIX)/share/jobprof; fi
	install -m 644 $(COMPLETED) $(DESTDIR)$(PREFIX)/share/bash-completion/completions
	for u in $(patsubst conf/%.in,%,$(wildcard conf/*.in)); do sed 's|@PREFIX@|$(PREFIX)|g;s|@SYSCONFDIR@|$(SYSCONFDIR)|g' conf/$$u.in > $(DESTDIR)$(UNITDIR)/$$u; done
	install -m 644 conf/jobprof.conf.example $(DESTDIR)$(SYSCONFDIR)/jobprof/jobprof.conf.example
	d=$(DESTDIR)$(PREFIX)/share/doc/jobprof; install -d $$d/docs $$d/LICENSES && install -m 644 LICENSE README.md $$d && \
		install -m 644 $(wildcard docs/*) $$d/docs && install -m 644 $(wildcard LICENSES/*) $$d/LICENSES
	d=$(DESTDIR)$(PREFIX)/share/doc/jobprof/examples; install -d $$d && install -m 644 conf/apache-jobprof.conf conf/apache-jobprof-files.conf conf/nginx-jobprof.conf $$d; \
		install -d $$d/ood/bin && install -m 644 conf/ood/passenger_wsgi.py conf/ood/manifest.yml conf/ood/cluster.yml $$d/ood && install -m 755 conf/ood/bin/python $$d/ood/bin; install -m 644 conf/ansible/jobprof.yml $$d

uninstall:
	$(Q)scripts/uninstall "$(DESTDIR)" $(MAKE) -s $(addprefix -o ,all slurm $(LIBJOBPROF)) UNINSTALLS=true install
	$(Q)$(tell_loader)

clean:
	rm -rf build build-san build-cov build-fuzz
