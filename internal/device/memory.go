package device

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// HostMemory returns the bytes that this process may use: the machine's memory, or the limit of its control group;
// false where the system does not tell.
func HostMemory() (int64, bool) {
	total, ok := meminfo("MemTotal")
	if !ok {
		return 0, false
	}
	if b, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil {
			return min(total, limit), true
		}
	}
	return total, true
}

// HostMemoryAvailable returns the bytes that can be used without displacing others; false where the system does not tell.
func HostMemoryAvailable() (int64, bool) { return meminfo("MemAvailable") }

// meminfo reads a line of Linux's /proc/meminfo, in bytes.
func meminfo(name string) (int64, bool) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) >= 2 && fields[0] == name+":" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
