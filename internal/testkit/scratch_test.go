package testkit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// TestScratchOutlivesItsWriters: a goroutine writes to the folder while it is
// removed.
func TestScratchOutlivesItsWriters(t *testing.T) {
	var dir string
	var writing sync.WaitGroup
	t.Run("writers", func(sub *testing.T) {
		dir = Scratch(sub)
		begun := make(chan struct{})
		writing.Go(func() {
			for i := range 2000 {
				if i == 100 {
					close(begun)
				}
				err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600)
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			}
		})
		<-begun
	})
	writing.Wait()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
