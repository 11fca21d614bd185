package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/filelock"
)

// abandonedAfter is how long nothing was written to a temporary file that counts as left by a process that was killed. Others may use the
// same folder, perhaps from a file system without locks.
const abandonedAfter = time.Hour

// Hold keeps RemoveAbandoned of other processes from the temporary file, until that is closed.
func (p *Pending) Hold() error {
	if f, ok := p.file.(osFile); ok {
		return filelock.Try(f.File)
	}
	return nil
}

// RemoveAbandoned removes what killed processes left of files that were to replace path, and that they held. What cannot be removed stays.
func RemoveAbandoned(path string) {
	entries, _ := os.ReadDir(filepath.Dir(path)) // of a folder that cannot be read, none
	for _, e := range entries {
		if e.Type().IsRegular() && IsTemp(e.Name()) && strings.HasPrefix(e.Name(), filepath.Base(path)+tempInfix) {
			removeAbandoned(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

func removeAbandoned(tmp string) {
	f, err := os.Open(filepath.Clean(tmp))
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && time.Since(info.ModTime()) >= abandonedAfter && filelock.Try(f) == nil {
		_ = os.Remove(tmp)
	}
}
