#include "sensor/cgvalues.h"
