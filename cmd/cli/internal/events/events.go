package events

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/goestimator/goestimator/internal/format/graphdef"
	"github.com/goestimator/goestimator/internal/format/summary"
	"github.com/goestimator/goestimator/tensor"
	summarypb "github.com/wamuir/graft/tensorflow/core/framework/summary_go_proto"
	eventpb "github.com/wamuir/graft/tensorflow/core/util/event_go_proto"
)

// Kind is the kind of a tag's values.
type Kind string

// The kinds.
const (
	Scalar    Kind = "scalar"
	Histogram Kind = "histogram"
	Image     Kind = "image"
	Text      Kind = "text"
	Tensor    Kind = "tensor"
	Graph     Kind = "graph"
)

// Run has the events of one folder.
type Run struct {
	Name string // path below the folder that was read; "." for that folder
	Tags []Tag  // by name
}

// Tag has the values written under one name.
type Tag struct {
	Name   string
	Kind   Kind
	Points []Point // by step; the last value of each step
}

// Point is one value.
type Point struct {
	Step      int64
	Time      float64 // seconds since 1970
	Scalar    float64
	Histogram *summarypb.HistogramProto
	Text      string
	Bytes     int            // of an image, tensor or graph
	Matrix    *tensor.Tensor // a numeric tensor that is a small matrix
}

// Tag returns the tag of that name.
func (r Run) Tag(name string) (Tag, bool) {
	i, ok := slices.BinarySearchFunc(r.Tags, name, func(t Tag, n string) int {
		switch {
		case t.Name < n:
			return -1
		case t.Name > n:
			return 1
		}
		return 0
	})
	if !ok {
		return Tag{}, false
	}
	return r.Tags[i], true
}

// Last returns the point with the highest step.
func (t Tag) Last() Point { return t.Points[len(t.Points)-1] }

// Load reads the event files of a folder and its subfolders, or one file.
// If files are damaged, it returns what could be read, and an error.
func Load(path string) ([]Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("expected an event file or a folder of them: %w", err)
	}
	if !info.IsDir() {
		c := collector{}
		errs := c.addAll(summary.ReadFile(path))
		return []Run{c.run(".")}, errors.Join(errs...)
	}
	var runs []Run
	var errs []error
	err = filepath.WalkDir(path, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		files, err := summary.Files(dir)
		if err != nil || len(files) == 0 {
			return err
		}
		name, err := filepath.Rel(path, dir)
		if err != nil {
			return err
		}
		c := collector{}
		errs = append(errs, c.addAll(summary.Read(dir))...)
		runs = append(runs, c.run(name))
		return nil
	})
	return runs, errors.Join(append(errs, err)...)
}

// collector holds points by tag and step.
type collector map[string]*collected

type collected struct {
	kind   Kind
	points map[int64]Point
}

func (c collector) addAll(seq func(func(*summary.Event, error) bool)) []error {
	var errs []error
	for e, err := range seq {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		c.add(e)
	}
	return errs
}

func (c collector) add(e *summary.Event) {
	if l := e.GetSessionLog(); l != nil && l.Status == eventpb.SessionLog_START && e.Step > 0 {
		c.restart(e.Step)
	}
	if g := e.GetGraphDef(); g != nil {
		c.put("graph", Graph, Point{Step: e.Step, Time: e.WallTime, Bytes: len(g)})
	}
	for _, v := range e.GetSummary().GetValue() {
		kind, p := point(v)
		p.Step, p.Time = e.Step, e.WallTime
		c.put(v.Tag, kind, p)
	}
}

// restart drops points of an earlier process from that step on.
func (c collector) restart(step int64) {
	for _, t := range c {
		maps.DeleteFunc(t.points, func(s int64, _ Point) bool { return s >= step })
	}
}

func (c collector) put(tag string, kind Kind, p Point) {
	t := c[tag]
	if t == nil {
		t = &collected{points: map[int64]Point{}}
		c[tag] = t
	}
	t.kind, t.points[p.Step] = kind, p
}

func (c collector) run(name string) Run {
	r := Run{Name: name}
	for _, tag := range slices.Sorted(maps.Keys(c)) {
		t := Tag{Name: tag, Kind: c[tag].kind}
		for _, step := range slices.Sorted(maps.Keys(c[tag].points)) {
			t.Points = append(t.Points, c[tag].points[step])
		}
		if len(t.Points) > 0 {
			r.Tags = append(r.Tags, t)
		}
	}
	return r
}

// point reads a value as written by TensorFlow 1 or 2.
func point(v *summary.Value) (Kind, Point) {
	switch x := v.Value.(type) {
	case *summarypb.Summary_Value_SimpleValue:
		return Scalar, Point{Scalar: float64(x.SimpleValue)}
	case *summarypb.Summary_Value_Histo:
		return Histogram, Point{Histogram: x.Histo}
	case *summarypb.Summary_Value_Image:
		return Image, Point{Bytes: len(x.Image.GetEncodedImageString())}
	}
	t, err := graphdef.FromTensorProto(v.GetTensor())
	if v.GetTensor() == nil || err != nil {
		return Tensor, Point{}
	}
	p := Point{Bytes: len(t.Bytes)}
	switch plugin := v.GetMetadata().GetPluginData().GetPluginName(); {
	case plugin == "scalars" && t.DType.Float() && t.Len() == 1:
		p.Scalar = t.Float(0)
		return Scalar, p
	case len(t.Strings) > 0:
		p.Text = string(t.Strings[0])
		if len(t.Strings) > 1 {
			p.Text += fmt.Sprintf(" (and %d more lines)", len(t.Strings)-1)
		}
		return Text, p
	}
	if small := len(t.Shape) == 2 && t.Len() <= mostElements; small && (t.DType == tensor.Float32 || t.DType == tensor.Float64) {
		p.Matrix = t
	}
	return Tensor, p
}

// mostElements limits the elements of a matrix that is kept.
const mostElements = 1 << 16
