# SPDX-License-Identifier: GPL-2.0-or-later
# Stand-ins for libraries of hardware that few machines have. Each in a directory of its own: what a
# test sees is what it asked for.
STUBS := $(B)/tests/stub/libnvidia-ml.so.1 $(B)/tests/stub/rocm/librocm_smi64.so

$(B)/tests/stub/libnvidia-ml.so.1: tests/stub/nvml.c tests/stub/nvml.h
$(B)/tests/stub/rocm/librocm_smi64.so: tests/stub/rsmi.c tests/stub/rsmi.h
$(STUBS):
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

$(B)/tests/unit/test_nvml $(B)/tests/unit/test_rsmi: | $(STUBS)

# Sensors of a site's own, good and bad: what tests/e2e/sensors/plugins.py puts into a directory.
PLUGIN_STUBS := $(patsubst %,$(B)/tests/stub/plugin-%.so,good abi name series flags lies hang slow)
stub_good   :=
stub_abi    := -DABI=2
stub_name   := -DNAME='"rapl"' -DSERIES='"Other"'
stub_series := -DNAME='"gpus"' -DSERIES='"gpu"'
stub_flags  := -DNAME='"flags"' -DSERIES='"Flags"' -DFLAGS=8
stub_lies   := -DNAME='"lies"' -DSERIES='"Lies"' -DLIES
stub_slow   := -DNAME='"slow"' -DSERIES='"Slow"' -DTAKES=3 -DFLAGS=JOBPROF_SENSOR_SLOW
stub_hang   := -DNAME='"hang"' -DSERIES='"Hang"' -DHANG -DFLAGS=JOBPROF_SENSOR_SLOW

$(B)/tests/stub/plugin-%.so: tests/stub/plugin.c user/sensor/plugin/jobprof-sensor.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(stub_$*) $(CFLAGS) -fPIC -shared -o $@ $<

PRELOADED := $(patsubst %,$(B)/tests/stub/%.so,closelate nodirect whoreads)
$(PRELOADED): $(B)/tests/stub/%.so: tests/stub/%.c
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

tools: $(STUBS) $(PLUGIN_STUBS) $(PRELOADED)
