package hostmemory

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMemoryOfControlGroups: the minimum of the machine's memory and the limits of the process's group and its parents.
func TestMemoryOfControlGroups(t *testing.T) {
	const gib = 1 << 30
	machine := map[string]string{"proc/meminfo": "MemTotal:        8388608 kB\nMemAvailable:    4194304 kB\n"}
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"none":             {nil, 8 * gib},
		"version 2":        {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "2147483648\n"}, 2 * gib},
		"no limit":         {map[string]string{"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 8 * gib},
		"own group":        {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "1073741824\n", "sys/fs/cgroup/a/memory.max": "max\n"}, gib},
		"group above":      {map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "3221225472\n", "sys/fs/cgroup/a/memory.max": "1073741824\n"}, gib},
		"above machine":    {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999999\n"}, 8 * gib},
		"host's path":      {map[string]string{"proc/self/cgroup": "0::/kubepods/x\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, gib},
		"version 1":        {map[string]string{"proc/self/cgroup": "4:cpu:/\n3:memory:/a\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"}, gib},
		"version 1, none":  {map[string]string{"proc/self/cgroup": "3:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8 * gib},
		"version 1, above": {map[string]string{"proc/self/cgroup": "3:hugetlb,memory:/a/b\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, gib},
		"both":             {map[string]string{"proc/self/cgroup": "3:memory:/a\n0::/b\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"}, gib},
		"group unknown":    {map[string]string{"sys/fs/cgroup/memory.max": "1073741824\n"}, gib},
		"odd":              {map[string]string{"proc/self/cgroup": "memory\n0::/\n", "sys/fs/cgroup/memory.max": "much\n"}, 8 * gib},
	} {
		root := t.TempDir()
		for _, files := range []map[string]string{machine, c.files} {
			for name, text := range files {
				at := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, ok := totalBelow(root); !ok || got != c.want {
			t.Errorf("%s: got %d, %v; expected %d", name, got, ok, c.want)
		}
	}
	if _, ok := totalBelow(t.TempDir()); ok {
		t.Error("a system without these files has memory")
	}
}
