package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goestimator/goestimator/internal/platform/filelock"
)

// Hold keeps RemoveAbandoned of other processes from the temporary file, until that is closed.
func (p *Pending) Hold() error {
	if f, ok := p.file.(osFile); ok {
		return filelock.Try(f.File)
	}
	return nil
}

// RemoveAbandoned removes what killed processes left of files that were to replace path: those to which nothing was written for a while, and
// that nobody holds, where the file system has locks. What cannot be removed stays.
func RemoveAbandoned(path string, while time.Duration) {
	entries, _ := os.ReadDir(filepath.Dir(path)) // of a folder that cannot be read, none
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), filepath.Base(path)+tempInfix) {
			removeAbandoned(filepath.Join(filepath.Dir(path), e.Name()), while)
		}
	}
}

// abandonedAfter is how long nothing was written to a file that Rewrite takes for abandoned: other processes may be writing the same one.
const abandonedAfter = time.Minute

// Rewrite is WriteFile of a file that is written once or a few times by a process. It removes what killed ones left of it.
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
