package events

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goestimator/goestimator/internal/format/summary"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"
)

// mostPoints is the largest number of points in a Curve: when it is exceeded, every
// second point is dropped.
const mostPoints = 1 << 16

// Curve has the values of a scalar by step.
type Curve struct {
	Run    string // path of its folder below the model_dir; "." for the model_dir
	Tag    string
	Steps  []int64 // ascending
	Values []float64
}

// put adds a value, or replaces the value of the same step.
func (c *Curve) put(step int64, x float64) {
	i, found := len(c.Steps), false
	if i > 0 && c.Steps[i-1] >= step {
		i, found = slices.BinarySearch(c.Steps, step)
	}
	if found {
		c.Values[i] = x
		return
	}
	c.Steps, c.Values = slices.Insert(c.Steps, i, step), slices.Insert(c.Values, i, x)
	if len(c.Steps) > mostPoints {
		c.thin()
	}
}

// thin drops every second point, but keeps the last.
func (c *Curve) thin() {
	n := 0
	for i := range c.Steps {
		if i%2 == 0 || i == len(c.Steps)-1 {
			c.Steps[n], c.Values[n] = c.Steps[i], c.Values[i]
			n++
		}
	}
	c.Steps, c.Values = c.Steps[:n], c.Values[:n]
}

// drop drops a step and later ones.
func (c *Curve) drop(step int64) {
	i, _ := slices.BinarySearch(c.Steps, step)
	c.Steps, c.Values = c.Steps[:i], c.Values[:i]
}

// Follower reads the scalars of a model_dir while its event files grow: the files in the
// model_dir, and in its folders.
type Follower struct {
	dir     string
	folders map[string]*followed
}

// span is the times of a file's first and last event, in seconds since 1970.
type span struct{ first, last float64 }

// followed is one folder.
type followed struct {
	files  map[string]*summary.Tail
	spans  map[string]span // by file
	curves map[string]*Curve
	damage map[string]error // by file
}

// Follow returns a Follower of a model_dir, which need not exist yet.
func Follow(dir string) *Follower {
	return &Follower{dir: dir, folders: map[string]*followed{}}
}

// Poll reads what was written since the last call, and reports whether curves
// changed. A folder whose event files were removed or replaced is read again from the start. For
// damaged files it returns an error, and keeps what could be read.
func (f *Follower) Poll() (changed bool, err error) {
	names := map[string]bool{".": true}
	entries, err := readDir(f.dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if e.IsDir() {
			names[e.Name()] = true
		}
	}
	for name := range f.folders {
		if !names[name] {
			delete(f.folders, name)
			changed = true
		}
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(names)) {
		more, err := f.poll(name)
		changed = changed || more
		errs = append(errs, err)
	}
	return changed, errors.Join(errs...)
}

func (f *Follower) poll(name string) (changed bool, err error) {
	files, err := summary.Files(filepath.Join(f.dir, name))
	if err != nil {
		return false, err
	}
	d := f.folders[name]
	if d != nil && d.replaced(files) {
		d, changed = nil, true
		delete(f.folders, name)
	}
	if len(files) == 0 {
		return changed, nil
	}
	if d == nil {
		d = &followed{files: map[string]*summary.Tail{}, spans: map[string]span{}, curves: map[string]*Curve{}, damage: map[string]error{}}
		f.folders[name] = d
	}
	for _, file := range files {
		if d.files[file] == nil {
			d.files[file] = summary.NewTail(file)
		}
		for e, err := range d.files[file].Next() {
			if d.damage[file] = err; err == nil {
				d.time(file, e.WallTime)
				changed = d.add(name, e) || changed
			}
		}
	}
	var errs []error
	for _, file := range files {
		errs = append(errs, d.damage[file])
	}
	return changed, errors.Join(errs...)
}

// time records the time of an event in a file.
func (d *followed) time(file string, at float64) {
	s, ok := d.spans[file]
	if !ok {
		s.first = at
	}
	s.last = max(s.first, at)
	d.spans[file] = s
}

// Seconds is the training time: the time between the first and the last event of each of the model_dir's own files, summed
// without the pauses between files.
func (f *Follower) Seconds() (total float64) {
	if d := f.folders["."]; d != nil {
		for _, s := range d.spans {
			total += s.last - s.first
		}
	}
	return total
}

// replaced reports whether a file that was read has been removed or replaced.
func (d *followed) replaced(files []string) bool {
	for file, t := range d.files {
		if !slices.Contains(files, file) || t.Replaced() {
			return true
		}
	}
	return false
}

// add adds the scalars of an event.
func (d *followed) add(run string, e *summary.Event) (changed bool) {
	if l := e.GetSessionLog(); l != nil && l.Status == eventpb.SessionLog_START && e.Step > 0 {
		for _, c := range d.curves {
			c.drop(e.Step)
		}
		changed = true
	}
	for _, v := range e.GetSummary().GetValue() {
		kind, p := point(v)
		if kind != Scalar {
			continue
		}
		c := d.curves[v.Tag]
		if c == nil {
			c = &Curve{Run: run, Tag: v.Tag}
			d.curves[v.Tag] = c
		}
		c.put(e.Step, p.Scalar)
		changed = true
	}
	return changed
}

// Curves returns the curves by folder and tag. They belong to the Follower and are valid until the next Poll.
func (f *Follower) Curves() []*Curve {
	var out []*Curve
	for _, d := range f.folders {
		for _, c := range d.curves {
			if len(c.Steps) > 0 {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Curve) int {
		if by := strings.Compare(a.Run, b.Run); by != 0 {
			return by
		}
		return strings.Compare(a.Tag, b.Tag)
	})
	return out
}

// readDir lists a folder; it is empty if it does not exist.
func readDir(dir string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
