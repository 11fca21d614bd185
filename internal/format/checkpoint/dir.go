package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/goestimator/goestimator/internal/format/bundle"
	"github.com/goestimator/goestimator/internal/platform/atomicfile"
)

// Base begins the names of a model_dir's checkpoints; the step follows.
const Base = "model.ckpt"

const (
	indexSuffix  = ".index"
	brokenSuffix = ".broken"
	// how often a reader starts over when the chief deletes what it wanted
	maxRetries = 20
)

var (
	indexName = regexp.MustCompile(`^` + regexp.QuoteMeta(Base) + `-([0-9]+)\.index$`)
	dataName  = regexp.MustCompile(`^(` + regexp.QuoteMeta(Base) + `-[0-9]+)\.data-[0-9]{5}-of-([0-9]{5})$`)
)

// StepOf returns the number at the end of a checkpoint prefix.
func StepOf(prefix string) (int64, bool) {
	i := strings.LastIndexByte(prefix, '-')
	step, err := strconv.ParseInt(prefix[i+1:], 10, 64)
	return step, i >= 0 && err == nil && step >= 0
}

// directory reads a model_dir without changing it.
type directory struct {
	fs   atomicfile.FS
	path string
	log  *slog.Logger
}

func osDirectory(path string) directory {
	return directory{fs: atomicfile.OS{}, path: path, log: slog.Default()}
}

// abs returns the prefix for a path of the list.
func (d directory) abs(p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(d.path, p)
}

// readState returns the list, or nil if it is missing or cannot be parsed.
func (d directory) readState() (*state, error) {
	path := filepath.Join(d.path, StateFile)
	text, err := atomicfile.ReadFile(d.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := parseState(text)
	if err != nil {
		d.log.Warn("the list of checkpoints is damaged; looking at the files instead", "path", path, "error", err)
		return nil, nil
	}
	return s, nil
}

// scan returns the prefixes that have an index file, sorted by step.
func (d directory) scan() ([]string, error) {
	names, err := d.fs.ReadDir(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, n := range names {
		if indexName.MatchString(n) {
			found = append(found, filepath.Join(d.path, strings.TrimSuffix(n, indexSuffix)))
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, _ := StepOf(found[i])
		b, _ := StepOf(found[j])
		return a < b
	})
	return found, nil
}

// candidates returns the prefixes to try, best first: the list's latest, the
// rest of the list from its end, then files that are not on the list.
func (d directory) candidates() ([]string, error) {
	s, err := d.readState()
	if err != nil {
		return nil, err
	}
	scanned, err := d.scan()
	if err != nil {
		return nil, err
	}
	var list []string
	add := func(p string) {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	if s != nil {
		add(d.abs(s.latest))
		for _, p := range slices.Backward(s.all) {
			add(d.abs(p))
		}
	}
	for _, p := range slices.Backward(scanned) {
		add(p)
	}
	return list, nil
}

func (d directory) exists(path string) bool {
	f, err := d.fs.OpenFile(path, 0, 0)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// open opens one checkpoint. While the chief replaces it, the index
// and the data may not match for a moment, so open tries again.
func (d directory) open(prefix string) (*Reader, error) {
	for try := 0; ; try++ {
		b, err := bundle.Open(d.fs, prefix)
		if err == nil {
			return &Reader{b}, nil
		}
		if try == 2 || !errors.Is(err, fs.ErrNotExist) || !d.exists(prefix+indexSuffix) {
			return nil, err
		}
	}
}

// openLatest opens the best checkpoint that passes verification, and also returns
// the better ones that did not.
func (d directory) openLatest(ctx context.Context) (*Reader, []Attempt, error) {
	list, err := d.candidates()
	if err != nil {
		return nil, nil, err
	}
	var failed []Attempt
	for retries, i := 0, 0; i < len(list); i++ {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		r, err := d.openVerified(list[i])
		if err == nil {
			return r, failed, nil
		}
		if !damaged(err) {
			return nil, nil, fmt.Errorf("open checkpoint %s: %w", list[i], err)
		}
		// The list is updated before files are deleted, so a new list has what we want.
		if errors.Is(err, fs.ErrNotExist) && retries < maxRetries {
			now, err := d.candidates()
			if err != nil {
				return nil, nil, err
			}
			if !slices.Equal(now, list) {
				list, failed, i = now, nil, -1
				retries++
				continue
			}
		}
		failed = append(failed, Attempt{list[i], err})
	}
	return nil, failed, d.noneLoads(failed)
}

func (d directory) openVerified(prefix string) (*Reader, error) {
	r, err := d.open(prefix)
	if err != nil {
		return nil, err
	}
	if err := r.Verify(); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// noneLoads distinguishes an empty directory from one with damaged checkpoints.
// If files are merely missing (an interrupted first save, files removed by
// the user), there is nothing to lose.
func (d directory) noneLoads(failed []Attempt) error {
	corrupt := false
	for _, a := range failed {
		var ce *CorruptError
		corrupt = corrupt || errors.As(a.Err, &ce)
	}
	if corrupt {
		return &UnloadableError{Dir: d.path, Tried: failed}
	}
	for _, a := range failed {
		d.log.Warn("a checkpoint's files are missing", "prefix", a.Prefix, "error", a.Err)
	}
	return fmt.Errorf("%w in %s", ErrNone, d.path)
}
