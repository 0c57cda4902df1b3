# acct_gather_profile_jobprof.so: libc and objects of ours, nothing else; only where Slurm's headers are.
PROFILE_SRC := $(addprefix user/,slurm/profile_jobprof.c slurm/profile_sink.c slurm/profile_layout.c \
	slurm/profile_columns.c client/client.c base/family.c base/freq.c base/fully.c base/str.c job/proc.c \
	job/layout.c job/hetjob.c)
PROFILE_OBJ := $(PROFILE_SRC:%.c=$(B)/pic/%.o)
PROFILE := $(if $(wildcard $(SLURM_INCLUDE)/slurm/slurm.h),$(B)/acct_gather_profile_jobprof.so)

.PHONY: profile install-profile
$(B)/pic/user/slurm/profile_jobprof.o: CPPFLAGS += $(if $(filter-out /usr/include,$(SLURM_INCLUDE)),-I$(SLURM_INCLUDE))
all: profile
profile: $(PROFILE)
ifeq ($(PROFILE),)
	$(call msg,SKIP,acct_gather_profile_jobprof.so: no slurm/slurm.h (Debian: libslurm-dev))
endif

$(B)/acct_gather_profile_jobprof.so: $(PROFILE_OBJ) user/slurm/profile_jobprof.map
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-z,defs -Wl,--version-script=user/slurm/profile_jobprof.map -o $@ $(PROFILE_OBJ) -lpthread

install: install-profile
install-profile: profile
ifneq ($(PROFILE),)
	install -d $(DESTDIR)$(SLURM_PLUGINDIR)
	install -m 755 $(PROFILE) $(DESTDIR)$(SLURM_PLUGINDIR)
endif
