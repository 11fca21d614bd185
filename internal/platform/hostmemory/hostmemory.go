package hostmemory

import (
	"bufio"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Total returns the bytes that this process may use: the machine's memory, or the limit of its control group (version
// 1 or 2) if that is less; false if unknown.
func Total() (int64, bool) { return totalBelow("/") }

// totalBelow is Total for a system whose files are below root.
func totalBelow(root string) (int64, bool) {
	total, ok := meminfo(root, "MemTotal")
	if !ok {
		return 0, false
	}
	for _, name := range limitFiles(root) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			continue
		}
		// "max" means no limit, and version 1 uses a number that no machine reaches.
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return total, true
}

// limitFiles are the files with the limits of the process's control groups and all their parents. Within a container
// the path may be the host's, which is not mounted; then the topmost group is the container's own.
func limitFiles(root string) []string {
	const top = "sys/fs/cgroup"
	b, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return []string{top + "/memory.max", top + "/memory/memory.limit_in_bytes"}
	}
	var files []string
	for line := range strings.Lines(string(b)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		folder, name := "", ""
		switch controllers := strings.Split(fields[1], ","); {
		case fields[0] == "0" && fields[1] == "":
			folder, name = top, "memory.max"
		case slices.Contains(controllers, "memory"):
			folder, name = top+"/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			files = append(files, path.Join(folder, group, name))
			if group == "/" {
				break
			}
		}
	}
	return files
}

// Available returns the bytes that can be used without swapping; false if unknown.
func Available() (int64, bool) { return meminfo("/", "MemAvailable") }

// meminfo reads a line of Linux's /proc/meminfo, in bytes.
func meminfo(root, name string) (int64, bool) {
	f, err := os.Open(filepath.Join(root, "proc/meminfo"))
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
