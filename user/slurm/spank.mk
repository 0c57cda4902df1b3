# spank_jobprof.so: libc and objects of ours, nothing else; only where the compiler finds Slurm's header,
# in SLURM_INCLUDE= or by itself.
SPANK_SRC := $(addprefix user/,slurm/spank_jobprof.c slurm/spank_ids.c slurm/spank_link.c client/client.c \
	base/family.c base/freq.c base/str.c)
SPANK_OBJ := $(SPANK_SRC:%.c=$(B)/pic/%.o)
SLURM_PLUGINDIR ?= $(PREFIX)/lib/slurm
SPANK_CPPFLAGS := $(addprefix -I,$(SLURM_INCLUDE))
SPANK := $(shell printf '\043include <slurm/spank.h>\n' | $(CC) $(SPANK_CPPFLAGS) -E - >/dev/null 2>&1 && \
	echo $(B)/spank_jobprof.so)
# For lint, which cannot read it without.
SPANK_UNSEEN := $(if $(SPANK),,':!user/slurm/spank_jobprof.c')

.PHONY: spank install-spank
$(B)/pic/user/slurm/spank_jobprof.o: CPPFLAGS += $(SPANK_CPPFLAGS)
all: spank
spank: $(SPANK)
ifeq ($(SPANK),)
	$(call msg,SKIP,spank_jobprof.so: no slurm/spank.h (Debian: libslurm-dev))
endif

$(B)/spank_jobprof.so: $(SPANK_OBJ) user/slurm/spank_jobprof.map
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,--version-script=user/slurm/spank_jobprof.map -o $@ $(SPANK_OBJ)

install: install-spank
install-spank: spank
ifneq ($(SPANK),)
	install -d $(DESTDIR)$(SLURM_PLUGINDIR)
	install -m 755 $(SPANK) $(DESTDIR)$(SLURM_PLUGINDIR)
endif
