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
