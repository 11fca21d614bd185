package savedmodel

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// TempPrefix begins the names of directories in a base that are being written, or
// were when their process ended.
const TempPrefix = "temp-"

// attempts is the number of version numbers to try if others take them meanwhile.
const attempts = 10

// unixTime matches a version that was numbered by the clock.
var unixTime = regexp.MustCompile(`^[1-9]\d{9}$`)

// Publish makes the directory <base>/<version>, durably and atomically:
// fill writes its files to a temporary directory beside it, which is then renamed.
// Version 0 is the current Unix time in seconds or, if base has that or a later version,
// the number after the last one: later models have higher numbers even if the clock was set
// back. For other versions, the error wraps fs.ErrExist if the version exists.
func Publish(fsys atomicfile.FS, base string, version int64, fill func(dir string) error) (dir string, err error) {
	if err := atomicfile.MkdirAll(fsys, base); err != nil {
		return "", err
	}
	name, err := versionName(fsys, base, version)
	if err != nil {
		return "", err
	}
	// Servers treat children whose names are numbers as versions. This name is none, and
	// differs from any other export's, running or killed.
	temp := filepath.Join(base, fmt.Sprintf("%s%s-%d-%d", TempPrefix, name, os.Getpid(), time.Now().UnixNano()))
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(fsys, temp))
		}
	}()
	if err := fsys.Mkdir(temp); err != nil {
		return "", err
	}
	if err := fill(temp); err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		dir = filepath.Join(base, name)
		err := fsys.Rename(temp, dir)
		if err == nil {
			break
		}
		if version != 0 || !errors.Is(err, fs.ErrExist) || i == attempts {
			return "", err
		}
		if name, err = versionName(fsys, base, version); err != nil {
			return "", err
		}
	}
	if err := atomicfile.SyncDir(fsys, base); err != nil {
		return "", err
	}
	return dir, nil
}

// versionName returns the name of a version in base.
func versionName(fsys atomicfile.FS, base string, version int64) (string, error) {
	taken, err := fsys.ReadDir(base)
	if err != nil {
		return "", err
	}
	if version != 0 {
		name := strconv.FormatInt(version, 10)
		if slices.Contains(taken, name) {
			return "", fmt.Errorf("%s: %w", filepath.Join(base, name), fs.ErrExist)
		}
		return name, nil
	}
	version = time.Now().Unix()
	for _, name := range taken {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil && unixTime.MatchString(name) {
			version = max(version, n+1)
		}
	}
	return strconv.FormatInt(version, 10), nil
}

// removeAll removes a directory and what is below it.
func removeAll(fsys atomicfile.FS, path string) error {
	names, err := fsys.ReadDir(path)
	if err == nil {
		for _, n := range names {
			if err := removeAll(fsys, filepath.Join(path, n)); err != nil {
				return err
			}
		}
	}
	if err := fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
