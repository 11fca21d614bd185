package savedmodel_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/goestimator/goestimator/internal/format/savedmodel"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

func TestPublishAtOnce(t *testing.T) {
	base := t.TempDir()
	const n = 8
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			dir, err := savedmodel.Write(atomicfile.OS{}, base, 0, whole())
			if err != nil {
				t.Error(err)
			} else if _, err := open(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names := left(t, base); len(names) != n {
		t.Errorf("expected %d models, got %v", n, names)
	}
}

// TestPublishAfterTheLast: later models have higher numbers, as servers
// expect, even if the clock was set back. Numbers that are no times do not count.
func TestPublishAfterTheLast(t *testing.T) {
	base := t.TempDir()
	future := time.Now().Unix() + 1_000_000
	for _, name := range []string{strconv.FormatInt(future, 10), "20261121103000", "00000000007", "notes"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(2) {
		dir, err := savedmodel.Write(atomicfile.OS{}, base, 0, whole())
		if want := strconv.FormatInt(future+1+i, 10); err != nil || filepath.Base(dir) != want {
			t.Errorf("got %s, %v: expected %s", dir, err, want)
		}
	}
}

func TestPublishFails(t *testing.T) {
	base := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(base, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := savedmodel.Write(atomicfile.OS{}, base, 0, whole()); err == nil {
		t.Error("a base that is a file: expected an error")
	}
	dir := t.TempDir()
	failing := func(dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "half"), nil, 0o644), errDisk)
	}
	if _, err := savedmodel.Publish(atomicfile.OS{}, dir, 0, failing); !errors.Is(err, errDisk) || len(left(t, dir)) > 0 {
		t.Errorf("got %v, left over %v", err, left(t, dir))
	}
	if err := os.WriteFile(filepath.Join(dir, "7"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := savedmodel.Publish(atomicfile.OS{}, dir, 7, failing); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file of the version's name: got %v", err)
	}
}
