# SPDX-License-Identifier: GPL-2.0-or-later
# Slurm's plugins: libc and objects of ours, nothing else. What includes headers of Slurm is built
# apart for each release: for the headers below SLURM=, else for those that the compiler finds.
SLURM_FLAGS := $(patsubst %,-isystem %/include,$(filter-out /usr,$(SLURM)))
SLURM_NUMBER := $(shell printf '\043include <slurm/%s>\n' slurm.h spank.h slurm_version.h | \
	sed '$$a SLURM_VERSION_NUMBER' | $(CC) $(SLURM_FLAGS) -E -P - 2>/dev/null | sed -n '$$s/^0x/&/p')
ifneq ($(SLURM),)
ifeq ($(and $(filter /%,$(SLURM)),$(wildcard $(SLURM)/include/slurm/slurm_version.h),$(SLURM_NUMBER)),)
$(error SLURM=$(SLURM): there are no headers in $(SLURM)/include/slurm: say the whole path that is the --prefix of that Slurm)
endif
endif
# Where that Slurm has its own plugins; without SLURM= that of the distribution.
SLURM_LIBDIR := $(dir $(wildcard $(foreach lib,lib lib64 lib/$(TARGET),$(or $(SLURM),/usr)/$(lib)/slurm*/libslurmfull.so)))
SLURM_PLUGINDIR ?= $(or $(patsubst %/,%,$(firstword $(SLURM_LIBDIR))),$(SLURM:%=%/lib/slurm))

.PHONY: slurm install-slurm uninstall-slurm
all: slurm
install: install-slurm
install-slurm: slurm

ifeq ($(SLURM_NUMBER),)
slurm:
	$(call msg,SKIP,the plugins of Slurm: no slurm/spank.h (Debian: libslurm-dev; else SLURM=PREFIX))
else
SLURM_RELEASE := $(shell printf '%d.%02d' $$(($(SLURM_NUMBER) >> 16)) $$(($(SLURM_NUMBER) >> 8 & 255)))
SLURM_B := $(B)/slurm-$(SLURM_RELEASE)
SLURM_PLUGINS := $(addprefix $(SLURM_B)/,spank_jobprof.so acct_gather_profile_jobprof.so)
slurm: $(SLURM_PLUGINS)

# -MD: another patch level in the same place has other headers.
$(SLURM_B)/%.o: user/slurm/%.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(SLURM_FLAGS) $(CFLAGS) -fPIC -MD -MP -c $< -o $@

$(SLURM_B)/spank_jobprof.so: user/slurm/spank_jobprof.map $(SLURM_B)/spank_jobprof.o $(addprefix $(B)/pic/user/, \
		slurm/spank_ids.o slurm/spank_link.o slurm/spank_findings.o client/client.o schema/family.o base/clock.o base/freq.o base/str.o)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,--version-script=$< -o $@ $(filter %.o,$^) -lpthread

$(SLURM_B)/acct_gather_profile_jobprof.so: user/slurm/profile_jobprof.map $(SLURM_B)/profile_jobprof.o \
		$(addprefix $(B)/pic/user/,slurm/profile_sink.o slurm/profile_record.o slurm/profile_mask.o slurm/profile_columns.o \
		client/client.o schema/family.o base/clock.o base/freq.o schema/series.o schema/describe.o base/io_full.o base/room.o base/str.o identity/proc.o identity/stepd.o identity/layout.o identity/hetjob.o)
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-z,defs -Wl,--version-script=$< -o $@ $(filter %.o,$^) -lpthread

ifeq ($(SLURM_PLUGINDIR),)
install-slurm:
	$(call msg,SKIP,the plugins of Slurm: /usr has no Slurm: SLURM=PREFIX or SLURM_PLUGINDIR=DIR says where one is)
else
install-slurm:
	install -d $(DESTDIR)$(SLURM_PLUGINDIR)
	install -m 755 $(SLURM_PLUGINS) $(DESTDIR)$(SLURM_PLUGINDIR)
uninstall-slurm:
	rm -f $(SLURM_PLUGINS:$(SLURM_B)/%=$(DESTDIR)$(SLURM_PLUGINDIR)/%)
endif
endif
