# Stand-ins for libraries of hardware that few machines have.
STUBS := $(B)/tests/stub/libnvidia-ml.so.1

$(B)/tests/stub/libnvidia-ml.so.1: tests/stub/nvml.c tests/stub/nvml.h
	$(call msg,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -fPIC -shared -o $@ $<

$(B)/tests/unit/test_nvml: | $(STUBS)
