package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/filelock"
)

// Hold protects the temporary file from RemoveAbandoned in other processes until the file is closed.
func (p *Pending) Hold() error {
	if f, ok := p.file.(osFile); ok {
		return filelock.Try(f.File)
	}
	return nil
}

// RemoveAbandoned removes temporary files for path that killed processes left behind: files that were not written to for the given time
// and, if the file system has locks, that no process holds. Files that cannot be removed stay.
func RemoveAbandoned(path string, while time.Duration) {
	entries, _ := os.ReadDir(filepath.Dir(path)) // nothing, if the folder cannot be read
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), filepath.Base(path)+tempInfix) {
			removeAbandoned(filepath.Join(filepath.Dir(path), e.Name()), while)
		}
	}
}

// abandonedAfter is the time without a write after which Rewrite removes a file; other processes may be writing the same path.
const abandonedAfter = time.Minute

// Rewrite is WriteFile for files that a process writes once or a few times. It also removes temporary files of killed processes.
func Rewrite(path string, data []byte) error {
	RemoveAbandoned(path, abandonedAfter)
	return WriteFile(OS{}, path, data)
}

func removeAbandoned(tmp string, while time.Duration) {
	f, err := os.Open(filepath.Clean(tmp))
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && time.Since(info.ModTime()) >= while && filelock.Try(f) == nil {
		_ = os.Remove(tmp)
	}
}
